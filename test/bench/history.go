package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// The history: the number of occurrences and their time span. One of them reached everybody.
const (
	historyOccurrences = 300
	historyLength      = 30 * 24 * time.Hour
	// waitingDeliveries is how many deliveries have been due for an hour on each of two channels,
	// if there are enough users.
	waitingDeliveries = 5_000
)

// hundredth is a group with one of a hundred users.
const hundredth = "Hundredth"

// populateHistory writes deliveries of the last 30 days into a populated database, with their
// counters, and data for the filters of users. One delivery of 64 failed, another one was skipped,
// and the others were sent within a second.
func (d database) populateHistory(ctx context.Context, users, deliveries int) (h history, err error) {
	pool, err := d.open()
	if err != nil {
		return h, err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	pool.SetMaxOpenConns(1)
	for _, statement := range append(filterables(), concerns()...) {
		if _, err := pool.ExecContext(ctx, statement); err != nil {
			return h, fmt.Errorf("%s: %w", statement, err)
		}
	}
	each := max(1, (deliveries-users)/(historyOccurrences-1))
	begin := time.Now().UTC().Truncate(time.Microsecond).Add(-historyLength)
	for n := range historyOccurrences {
		size := min(each, users)
		if n == historyOccurrences/2 {
			size = users
		}
		at := begin.Add(time.Duration(n) * historyLength / historyOccurrences)
		id, err := occur(ctx, pool, at, size, n*each%max(1, users-size+1))
		if err != nil {
			return h, err
		}
		if n == historyOccurrences/2 {
			h.occurrence = id
		}
	}
	for _, through := range []string{list, channel} {
		if err := wait(ctx, pool, through, min(waitingDeliveries, users)); err != nil {
			return h, err
		}
	}
	if err := h.look(ctx, pool); err != nil {
		return h, err
	}
	if d.kind == postgres {
		if _, err := pool.ExecContext(ctx, "VACUUM ANALYZE"); err != nil {
			return h, err
		}
	}
	return h, d.settle(ctx)
}

const ofAcme = "(SELECT id FROM organizations WHERE slug = '" + organization + "')"

// filterables returns statements that add people to groups, register them and give them metadata,
// and write entries of the audit log.
func filterables() []string {
	return []string{
		"INSERT INTO member_group_links (member_id, group_id) SELECT m.id, g.id FROM members m JOIN member_groups g ON g.organization_id = m.organization_id" +
			" WHERE m.organization_id = " + ofAcme + " AND (g.name = 'Default' OR g.name = '" + hundredth + "' AND m.id % 100 = 0)",
		"INSERT INTO application_memberships (application_id, member_id, custom_fields, active, enable_notifications)" +
			" SELECT a.id, m.id, '{}', TRUE, TRUE FROM members m JOIN applications a ON a.organization_id = m.organization_id" +
			" WHERE m.organization_id = " + ofAcme + " AND m.id % 2 = 0",
		`UPDATE members SET custom_fields = '{"plan":"gold"}' WHERE organization_id = ` + ofAcme + " AND id % 1000 = 0",
		"INSERT INTO audit_entries (organization_id, actor, remote_address, via, created_at, action, object, before_state, after_state)" +
			" SELECT m.organization_id, 'bench', '127.0.0.1', 'console', CURRENT_TIMESTAMP, 'member.lock', 'acme/u/' || m.id, '{\"locked\":false}', '{\"locked\":true}'" +
			" FROM members m WHERE m.organization_id = " + ofAcme + " AND m.id % 5 = 0",
	}
}

// concerns returns statements that give every other organization a channel that does not work on
// two instances, and an import that rejected a row.
func concerns() []string {
	const of = " FROM organizations o WHERE o.slug LIKE 'other%'"
	return []string{
		"INSERT INTO channel_troubles (channel_id, instance, since, last_at, until_at, last_error)" +
			" SELECT c.id, i.name, CURRENT_TIMESTAMP, CURRENT_TIMESTAMP, CURRENT_TIMESTAMP, 'connection refused'" +
			" FROM channels c CROSS JOIN (SELECT 'one' AS name UNION ALL SELECT 'two') AS i WHERE c.organization_id IN (SELECT o.id" + of + ")",
		"INSERT INTO imports (organization_id, file_name, size, header, group_name, actor, remote_address, state, reason, row_count, done_count, kept_count," +
			" counts, checked, uploaded_at, ended_at, touched_at, pace_from, owner, failures, version, stored)" +
			" SELECT o.id, 'people.csv', 100, 'email', 'Default', 'bench', '127.0.0.1', 'done', '', 9, 9, 1, '{\"Rejected\":1}', '{}'," +
			" CURRENT_TIMESTAMP, CURRENT_TIMESTAMP, CURRENT_TIMESTAMP, 0, '', 0, 1, FALSE" + of,
	}
}

// begin writes an occurrence.
func begin(ctx context.Context, pool *sql.DB, at time.Time) (id int64, err error) {
	err = pool.QueryRowContext(ctx, `INSERT INTO occurrences (organization_id, project_id, application_id, event_id, context, limit_to, channels, correlation_id,
			created_at, turn_at, cursor_notification, cursor_phase, cursor_assignment, expanded_at)
		SELECT a.organization_id, a.project_id, a.id, e.id, '{"order": 1207}', '[]', '[]', '', $1, $1, 1, 0, 0, $1
		FROM events e JOIN applications a ON a.id = e.application_id WHERE e.slug = 'order' RETURNING id`, at).Scan(&id)
	return id, err
}

// wait writes an occurrence with deliveries that have been due on a channel for an hour, and its
// counters.
func wait(ctx context.Context, pool *sql.DB, through string, size int) error {
	at := time.Now().UTC().Truncate(time.Microsecond).Add(-time.Hour)
	id, err := begin(ctx, pool, at)
	if err != nil {
		return err
	}
	first := populatedFrom(0)
	if _, err := pool.ExecContext(ctx, `INSERT INTO deliveries (occurrence_id, notification_id, member_id, assignment_id, channel_id, protocol, address, address_key,
			chosen, state, reason, attempts, owner, next_at, last_error, created_at)
		SELECT $1, (SELECT id FROM notifications WHERE name = 'Shipped'), a.member_id, a.id, (SELECT id FROM channels WHERE name = '`+through+`' AND organization_id = `+ofAcme+`),
			'EMAIL', a.value, a.value_key, TRUE, 0, '', 0, '', $2, '', $2
		FROM addresses a WHERE a.id >= $3 AND a.id < $4 ORDER BY a.id`, id, at, first, first+size); err != nil {
		return err
	}
	_, err = pool.ExecContext(ctx, `INSERT INTO occurrence_tallies (occurrence_id, part, organization_id, pending, sending, retrying, sent, failed, skipped)
		VALUES ($1, 0, `+ofAcme+`, $2, 0, 0, 0, 0, 0)`, id, size)
	return err
}

// occur writes an occurrence with deliveries to a range of people, and its counters.
func occur(ctx context.Context, pool *sql.DB, at time.Time, size, from int) (id int64, err error) {
	ended := at.Add(time.Second)
	if id, err = begin(ctx, pool, at); err != nil {
		return 0, err
	}
	first := populatedFrom(0) + from
	_, err = pool.ExecContext(ctx, `INSERT INTO deliveries (occurrence_id, notification_id, member_id, assignment_id, channel_id, protocol, address, address_key,
			chosen, state, reason, attempts, owner, next_at, last_error, created_at, finished_at)
		SELECT $1, (SELECT id FROM notifications WHERE name = 'Shipped'), a.member_id, a.id, s.channel_id, 'EMAIL', a.value, a.value_key,
			a.id % 64 <> 2, CASE a.id % 64 WHEN 1 THEN 4 WHEN 2 THEN 5 ELSE 3 END, CASE a.id % 64 WHEN 2 THEN 'the member is locked in the organization' ELSE '' END,
			1, '', $2, CASE a.id % 64 WHEN 1 THEN '550 there is no such mailbox' ELSE '' END, $2, $3
		FROM addresses a JOIN assignments s ON s.id = a.id WHERE a.id >= $4 AND a.id < $5 ORDER BY a.id`, id, at, ended, first, first+size)
	if err != nil {
		return 0, err
	}
	for _, statement := range []string{
		`INSERT INTO occurrence_tallies (occurrence_id, part, organization_id, pending, sending, retrying, sent, failed, skipped)
			SELECT d.occurrence_id, 0, ` + ofAcme + `, 0, 0, 0, SUM(CASE d.state WHEN 3 THEN 1 ELSE 0 END), SUM(CASE d.state WHEN 4 THEN 1 ELSE 0 END),
				SUM(CASE d.state WHEN 5 THEN 1 ELSE 0 END) FROM deliveries d WHERE d.occurrence_id = $1 GROUP BY d.occurrence_id`,
		`INSERT INTO hourly_statistics (organization_id, hour, measure, part, amount)
			SELECT ` + ofAcme + `, ` + fmt.Sprint(ended.Unix()/3600) + `, m.measure, 0, m.amount FROM (
				SELECT 0 AS measure, 1 AS amount UNION ALL
				SELECT 1, failed FROM occurrence_tallies WHERE occurrence_id = $1 UNION ALL SELECT 2, skipped FROM occurrence_tallies WHERE occurrence_id = $1
				UNION ALL SELECT 21, sent FROM occurrence_tallies WHERE occurrence_id = $1) AS m WHERE TRUE
			ON CONFLICT (organization_id, hour, measure, part) DO UPDATE SET amount = hourly_statistics.amount + excluded.amount`,
	} {
		if _, err := pool.ExecContext(ctx, statement, id); err != nil {
			return 0, err
		}
	}
	return id, nil
}

// look finds the ids in the paths of the pages.
func (h *history) look(ctx context.Context, pool *sql.DB) (err error) {
	const group = "SELECT id FROM member_groups WHERE organization_id = " + ofAcme + " AND name = "
	if h.everybody, err = scalar[string](ctx, pool, group+"'Default'"); err != nil {
		return err
	}
	if h.hundredth, err = scalar[string](ctx, pool, group+"'"+hundredth+"'"); err != nil {
		return err
	}
	if h.application, err = scalar[string](ctx, pool, "SELECT id FROM applications WHERE organization_id = "+ofAcme); err != nil {
		return err
	}
	rows, err := pool.QueryContext(ctx, "SELECT id FROM deliveries WHERE occurrence_id = $1 ORDER BY id LIMIT 1000", h.occurrence)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return err
		}
		h.deliveries = append(h.deliveries, id)
	}
	return rows.Err()
}
