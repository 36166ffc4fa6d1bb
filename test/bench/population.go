package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// populate writes people into the database without the program, each with an address that is
// assigned to the channel, and an entry in the list. Each crowd of people has its own number.
func (d database) populate(ctx context.Context, crowd, people int, channel, list string) (err error) {
	pool, err := d.open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	pool.SetMaxOpenConns(1)
	if d.kind == postgres {
		// If the role may do this, the references of the rows are not checked.
		if _, err := pool.ExecContext(ctx, "SET session_replication_role = replica"); err != nil && !isForbidden(err) {
			return err
		}
	}
	for _, statement := range population(d.kind, crowd, people, channel, list) {
		if _, err := pool.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return d.settle(ctx)
}

// populatedFrom is the first id of populate, far above the ids that the program assigns.
func populatedFrom(crowd int) int { return (crowd + 1) * 1_000_000_000 }

// populated returns the address of a user of populate.
func populated(crowd, n int) string {
	return fmt.Sprintf("person%d@example.org", populatedFrom(crowd)+n)
}

// personOf returns the id of the person with an address of populated, or 0.
func personOf(address string) int {
	var id int
	if _, err := fmt.Sscanf(address, "person%d@example.org", &id); err != nil {
		return 0
	}
	return id
}

// crowdOf returns the number of the crowd of a person, or -1.
func crowdOf(person int) int { return person/populatedFrom(0) - 1 }

// population returns the statements of populate.
func population(kind string, crowd, people int, channel, list string) []string {
	first := populatedFrom(crowd)
	numbers := fmt.Sprintf("generate_series(%d, %d) AS i", first, first+people-1)
	if kind == sqlite {
		numbers = fmt.Sprintf("(WITH RECURSIVE g (i) AS (SELECT %d UNION ALL SELECT i + 1 FROM g WHERE i < %d) SELECT i FROM g)", first, first+people-1)
	}
	const org = "(SELECT id FROM organizations WHERE slug = '" + organization + "')"
	statements := []string{
		"CREATE TABLE seed AS SELECT i, 'person' || i || '@example.org' AS e FROM " + numbers,
		"INSERT INTO users (id, username, username_fold, created_at) SELECT i, e, e, CURRENT_TIMESTAMP FROM seed",
		"INSERT INTO members (id, organization_id, user_id, username, username_fold, email, email_fold, first_name, last_name, role, custom_fields, locked, created_at)" +
			" SELECT i, " + org + ", i, e, e, e, e, 'First', 'Last', 'member', '{}', FALSE, CURRENT_TIMESTAMP FROM seed",
		"INSERT INTO addresses SELECT i, " + org + ", i, e, e, 'email', 'email' FROM seed",
		"INSERT INTO assignments SELECT i, " + org + ", i, (SELECT id FROM channels WHERE name = '" + channel + "'), TRUE, TRUE FROM seed",
		"INSERT INTO list_entries SELECT (SELECT id FROM distribution_lists WHERE name = '" + list + "'), i FROM seed",
		"DROP TABLE seed",
	}
	if kind == postgres {
		statements = append(statements, "VACUUM ANALYZE")
	}
	return statements
}

// copyDeliveries copies every delivery into a table with the same columns and indexes, in one
// statement. That is the minimum time for writing so many.
func (d database) copyDeliveries(ctx context.Context, rows int) (copied sample, err error) {
	pool, err := d.open()
	if err != nil {
		return sample{}, err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	create := "CREATE TABLE twin (LIKE deliveries_first INCLUDING ALL EXCLUDING IDENTITY)" // the only partition, which has all indexes
	if d.kind == sqlite {
		if err := pool.QueryRowContext(ctx, `SELECT group_concat(replace(replace(replace(sql, 'INDEX deliveries', 'INDEX twin'), 'TABLE deliveries', 'TABLE twin'),
			'ON deliveries', 'ON twin'), ';') FROM sqlite_master WHERE tbl_name = 'deliveries' AND sql <> ''`).Scan(&create); err != nil {
			return sample{}, err
		}
	}
	if _, err := pool.ExecContext(ctx, create); err != nil {
		return sample{}, err
	}
	if err := d.settle(ctx); err != nil {
		return sample{}, err
	}
	start, used := time.Now(), ownProcessor()
	done, err := pool.ExecContext(ctx, "INSERT INTO twin SELECT * FROM deliveries ORDER BY id")
	if err != nil {
		return sample{}, err
	}
	copied = perRow(rows, time.Since(start), ownProcessor()-used)
	if n, err := done.RowsAffected(); err != nil || n != int64(rows) {
		return sample{}, errors.Join(err, fmt.Errorf("there are %d deliveries instead of %d", n, rows))
	}
	return copied, nil
}

// waitUntil queries the database, without the program, until the answer is true.
func (d database) waitUntil(ctx context.Context, question string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, deliveryLimit)
	defer cancel()
	pool, err := d.open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	again := time.NewTicker(lookEvery)
	defer again.Stop()
	for {
		var yes bool
		if err := pool.QueryRowContext(ctx, question).Scan(&yes); err != nil || yes {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-again.C:
		}
	}
}
