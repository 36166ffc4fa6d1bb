package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tocsin/tocsin/domain/names"
)

// rawChunk is the number of rows of one statement on SQLite, and rawTransaction that of one
// transaction.
const (
	rawChunk       = 2_000
	rawTransaction = 100_000
)

// rawFill fills the tables users, members and addresses of a database with the people of the import
// in the fastest way, and then looks up all of them. It is not an import: it assumes empty tables,
// chooses the ids itself, and checks nothing.
func rawFill(ctx context.Context, d database, rows int) (fill, find sample, err error) {
	if err := d.withSchema(ctx); err != nil {
		return fill, find, err
	}
	pool, err := d.open()
	if err != nil {
		return fill, find, err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	var org int64
	if err := pool.QueryRowContext(ctx, `INSERT INTO organizations (slug, name, revision, created_at) VALUES ('acme', 'Acme', 0, '2026-01-02') RETURNING id`).Scan(&org); err != nil {
		return fill, find, err
	}
	raw := rawSQLite
	if d.kind == postgres {
		raw = rawPostgres
	}
	if fill, find, err = raw(ctx, d, pool, org, rows); err != nil {
		return fill, find, err
	}
	return fill, find, countPeople(ctx, pool, rows)
}

// rawSQLite passes sets of rows as JSON.
func rawSQLite(ctx context.Context, _ database, pool *sql.DB, org int64, rows int) (fill, find sample, err error) {
	inserts := []string{
		`INSERT INTO users (id, username, username_fold, created_at)
			SELECT value->>0, value->>1, value->>1, ?2 FROM jsonb_each(?1)`,
		`INSERT INTO members (id, organization_id, user_id, username, username_fold, email, email_fold, first_name, last_name, role, custom_fields, locked, created_at)
			SELECT value->>0, ?3, value->>0, value->>1, value->>1, value->>1, value->>1, value->>2, value->>3, 'member', value->>4, FALSE, ?2 FROM jsonb_each(?1)`,
		`INSERT INTO addresses (id, organization_id, member_id, value, value_key, name, type)
			SELECT value->>0, ?3, value->>0, value->>1, value->>1, 'email', 'email' FROM jsonb_each(?1) WHERE ?2 IS NOT NULL`,
	}
	start, used := time.Now(), ownProcessor()
	for from := 1; from <= rows; from += rawTransaction {
		if err := inTransaction(ctx, pool, func(tx *sql.Tx) error {
			for first := from; first <= min(rows, from+rawTransaction-1); first += rawChunk {
				people := jsonPeople(first, min(rows, first+rawChunk-1))
				for _, insert := range inserts {
					if _, err := tx.ExecContext(ctx, insert, people, start.UTC(), org); err != nil {
						return err
					}
				}
			}
			return nil
		}); err != nil {
			return fill, find, err
		}
	}
	fill = perRow(rows, time.Since(start), ownProcessor()-used)

	start, used = time.Now(), ownProcessor()
	for first := 1; first <= rows; first += rawChunk {
		last := min(rows, first+rawChunk-1)
		var found int
		if err := pool.QueryRowContext(ctx, `SELECT count(a.id) FROM jsonb_each(?1) AS p CROSS JOIN users AS u ON u.username_fold = p.value->>1
			CROSS JOIN members AS m ON m.user_id = u.id AND m.organization_id = ?2
			CROSS JOIN addresses AS a ON a.organization_id = m.organization_id AND a.member_id = m.id AND a.value_key = p.value->>1`, jsonPeople(first, last), org).Scan(&found); err != nil {
			return fill, find, err
		}
		if want := last - first + 1; found != want {
			return fill, find, fmt.Errorf("found %d of %d people", found, want)
		}
	}
	return fill, perRow(rows, time.Since(start), ownProcessor()-used), nil
}

func inTransaction(ctx context.Context, pool *sql.DB, do func(*sql.Tx) error) error {
	tx, err := pool.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// jsonPeople returns a batch of the import as JSON: number, e-mail, names, metadata.
func jsonPeople(first, last int) string {
	var b strings.Builder
	for n := first; n <= last; n++ {
		p := importedPerson(n)
		separator := ","
		if n == first {
			separator = "["
		}
		fmt.Fprintf(&b, `%s[%d,%q,%q,%q,%q]`, separator, n, p.email, p.first, p.last, p.fields)
	}
	b.WriteByte(']')
	return b.String()
}

// rawPostgres copies everybody into a table without indexes, and from there into the three tables.
func rawPostgres(ctx context.Context, d database, _ *sql.DB, org int64, rows int) (fill, find sample, err error) {
	conn, err := pgx.Connect(ctx, d.url)
	if err != nil {
		return fill, find, err
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	start, used := time.Now(), ownProcessor()
	if err := copyPeople(ctx, conn, rows); err != nil {
		return fill, find, err
	}
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		for _, insert := range []string{
			`INSERT INTO users (id, username, username_fold, created_at) SELECT id, email, email, now() FROM person`,
			`INSERT INTO members (id, organization_id, user_id, username, username_fold, email, email_fold, first_name, last_name, role, custom_fields, locked, created_at)
				SELECT id, ` + strconv.FormatInt(org, 10) + `, id, email, email, email, email, first, last, 'member', fields, FALSE, now() FROM person`,
			`INSERT INTO addresses (id, organization_id, member_id, value, value_key, name, type)
				SELECT id, ` + strconv.FormatInt(org, 10) + `, id, email, email, 'email', 'email' FROM person`,
		} {
			if _, err := tx.Exec(ctx, insert); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fill, find, err
	}
	fill = perRow(rows, time.Since(start), ownProcessor()-used)

	start, used = time.Now(), ownProcessor()
	if err := copyPeople(ctx, conn, rows); err != nil {
		return fill, find, err
	}
	var found int
	if err := conn.QueryRow(ctx, `SELECT count(*) FROM person AS p JOIN users AS u ON u.username_fold = p.email
		JOIN members AS m ON m.user_id = u.id AND m.organization_id = $1
		JOIN addresses AS a ON a.organization_id = m.organization_id AND a.member_id = m.id AND a.value_key = p.email`, org).Scan(&found); err != nil {
		return fill, find, err
	}
	if found != rows {
		return fill, find, fmt.Errorf("found %d of %d people", found, rows)
	}
	return fill, perRow(rows, time.Since(start), ownProcessor()-used), nil
}

func copyPeople(ctx context.Context, conn *pgx.Conn, rows int) error {
	if _, err := conn.Exec(ctx, `DROP TABLE IF EXISTS person;
		CREATE TEMPORARY TABLE person (id bigint, email text, first text, last text, fields text)`); err != nil {
		return err
	}
	n := 0
	_, err := conn.CopyFrom(ctx, pgx.Identifier{"person"}, []string{"id", "email", "first", "last", "fields"}, pgx.CopyFromFunc(func() ([]any, error) {
		if n++; n > rows {
			return nil, nil
		}
		p := importedPerson(n)
		return []any{n, p.email, p.first, p.last, p.fields}, nil
	}))
	return err
}

// imported is a row of the import as the tables store it.
type imported struct{ email, first, last, fields string }

func importedPerson(n int) imported {
	number := strconv.Itoa(n)
	return imported{email: names.Fold(importedEmail(n)), first: "First" + number, last: "Last" + number, fields: `{"external_id":"ext-` + number + `"}`}
}

func importedEmail(n int) string { return "person" + strconv.Itoa(n) + "@example.com" }
