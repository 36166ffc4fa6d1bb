package gormstore

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
)

func (q queue) Claim(
	ctx context.Context, channel channels.ID, owner string, limit int, lease time.Duration,
) (jobs []deliveries.Job, err error) {
	ctx = paced(ctx, paceBrief)
	var ids []deliveries.ID
	err = q.work(ctx, func(t tx) error {
		ids, err = t.claim(ctx, channel, owner, limit, lease)
		return err
	})
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	// They are ours now: what is known of their recipients is read beside those who write.
	err = q.view(ctx, func(t tx) error {
		jobs, err = t.jobs(ctx, channel, ids)
		return err
	})
	return jobs, err
}

// claim marks deliveries that are due and returns their ids.
func (t tx) claim(ctx context.Context, channel channels.ID, owner string, limit int, lease time.Duration) ([]deliveries.ID, error) {
	done := newChanges()
	ids, err := t.due(ctx, channel, limit, done)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	err = t.db(ctx).Exec("UPDATE deliveries SET state = @sending , owner = @owner , next_at = @until WHERE id @ids", map[string]any{
		"sending": number(deliveries.Sending), "owner": owner, "until": t.after(lease), "ids": among(t.dialect, ids)}).Error
	return ids, errors.Join(err, t.keep(ctx, done))
}

// due locks deliveries that are due and notes how the numbers change when they are being sent.
func (t tx) due(ctx context.Context, channel channels.ID, limit int, done changes) (ids []deliveries.ID, err error) {
	rows, err := t.db(ctx).Raw(`SELECT id, occurrence_id, state FROM deliveries WHERE channel_id = ? AND state < 3 AND next_at <= ?
		ORDER BY next_at, id LIMIT ?`+t.dialect.skipLocked(), channel, t.clock(), limit).Rows()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	ids = make([]deliveries.ID, 0, limit)
	for rows.Next() {
		var id deliveries.ID
		var occurrence events.OccurrenceID
		var state int
		if err := rows.Scan(&id, &occurrence, &state); err != nil {
			return nil, err
		}
		ids = append(ids, id)
		done.move(occurrence, deliveries.States()[state], deliveries.Sending, 1)
	}
	return ids, rows.Err()
}

// jobs returns claimed deliveries by id with everything that is to be known of them, as it is now.
func (t tx) jobs(ctx context.Context, channel channels.ID, ids []deliveries.ID) (jobs []deliveries.Job, err error) {
	rows, err := t.db(ctx).Raw(`WITH `+waysCTE(channelColumns+"0 AS phase FROM channels WHERE id = @channel ",
		"n.id IN (SELECT notification_id FROM deliveries WHERE id @ids )", "TRUE")+`
		SELECT d.id, d.occurrence_id, d.notification_id, oc.event_id, w.template_id, d.address, d.attempts, d.created_at,
			d.member_id, m.username, m.email, m.first_name, m.last_name, m.custom_fields, `+gateColumns+`
		FROM deliveries d CROSS JOIN occurrences oc
		LEFT JOIN ways w ON w.notification_id = d.notification_id
		LEFT JOIN assignments s ON s.id = d.assignment_id
		LEFT JOIN members m ON m.id = d.member_id`+joinsAt("d.address_key")+`
		WHERE d.id @ids AND oc.id = d.occurrence_id ORDER BY d.id`, map[string]any{"ids": among(t.dialect, ids), "channel": channel}).Rows()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	jobs = make([]deliveries.Job, 0, len(ids))
	for rows.Next() {
		j, err := scanJob(rows)
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, j)
	}
	return jobs, rows.Err()
}

// scanJob reads a row of jobs by hand: there are tens of thousands each second.
func scanJob(rows *sql.Rows) (j deliveries.Job, err error) {
	var template sql.NullInt64
	var username, email, first, last sql.NullString
	g := &j.Gates
	err = rows.Scan(&j.ID, &j.Occurrence, &j.Notification, &j.Event, &template, &j.Address, &j.Attempts, &j.Created,
		&j.Recipient.Member, &username, &email, &first, &last, &j.Recipient.Fields,
		&g.AddressGone, &g.MemberLocked, &g.HasMembership, &g.MembershipActive, &g.MembershipLocked, &g.MembershipEnabled,
		&g.AssignmentActive, &g.AssignmentValidated, &g.ChannelActive, &g.ChannelAllowed, &g.OptedOut, &g.HasTemplate)
	j.Template = events.TemplateID(template.Int64)
	j.Recipient.Username, j.Recipient.Email, j.Recipient.FirstName, j.Recipient.LastName = username.String, email.String, first.String, last.String
	return j, err
}

func (q queue) Renew(ctx context.Context, owner string, ids []deliveries.ID, lease time.Duration) (held []deliveries.ID, err error) {
	ctx = paced(ctx, paceBrief)
	if len(ids) == 0 {
		return nil, nil
	}
	err = q.work(ctx, func(t tx) error {
		held, err = rowsOf[deliveries.ID](t.db(ctx).Raw(`UPDATE deliveries SET next_at = @until WHERE id @ids AND state = @sending AND owner = @owner
			RETURNING id`, map[string]any{"until": t.after(lease), "ids": among(t.dialect, ids), "sending": number(deliveries.Sending),
			"owner": owner}))
		return err
	})
	return held, err
}
