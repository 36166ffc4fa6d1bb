package gormstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// enrollSQL is the statements of enrollment. Their first parameters are a set of rows: on Postgres an array for each
// column, on SQLite one JSON text (see setConn). The others follow. Those that add rows may be continued with unlessThere.
type enrollSQL struct {
	place        string // default group's key, group id, slug, reserved slug
	byEmail      string // keys; organization
	byUsername   string // keys
	members      string // user ids; organization
	addUsers     string // usernames, keys; now
	addMembers   string // user ids, e-mails (the usernames), keys, first names, last names, fields; organization, role, now
	lockFields   string // member ids
	saveFields   string // member ids, fields
	addLinks     string // member ids, group ids
	addAddresses string // member ids, values, keys; organization, name, type
	groups       string // member ids
	held         string // member ids, keys of addresses; organization
}

// unlessThere has a statement leave alone what is there already. Where nothing can be, doing without is faster.
const unlessThere = " ON CONFLICT DO NOTHING"

// enrolledColumns are those of a membership m that enrollment reads (see scanMember).
const enrolledColumns = "m.user_id, m.id, m.username, m.email, m.first_name, m.last_name, m.role, m.custom_fields, m.locked"

func enrollStatements(d dialect) *enrollSQL {
	if d == onPostgres {
		return &enrollOnPostgres
	}
	return &enrollOnSQLite
}

// enrollOnSQLite passes sets to json_each, and those with several columns to jsonb_each, whose values need not be parsed
// again for each column. CROSS JOIN tells SQLite to go through the set and look up the table, never the other way round.
var enrollOnSQLite = enrollSQL{
	place: `SELECT o.id, g.id, g.name, g.name_fold
		FROM organizations AS o LEFT JOIN member_groups AS g ON g.organization_id = o.id AND (g.name_fold = ?1 OR g.id = ?2)
		WHERE o.slug = ?3 AND o.slug <> ?4`,
	byEmail: `SELECT m.email_fold, ` + enrolledColumns + `
		FROM json_each(?1) AS k CROSS JOIN members AS m ON m.organization_id = ?2 AND m.email_fold = k.value AND m.email_fold <> m.username_fold`,
	byUsername: `SELECT u.username_fold, u.id FROM json_each(?1) AS k CROSS JOIN users AS u ON u.username_fold = k.value`,
	members: `SELECT ` + enrolledColumns + `
		FROM json_each(?1) AS k CROSS JOIN members AS m ON m.user_id = k.value AND m.organization_id = ?2`,
	addUsers: `INSERT INTO users (username, username_fold, created_at) SELECT value->>0, value->>1, ?2 FROM jsonb_each(?1) WHERE TRUE`,
	addMembers: `INSERT INTO members (organization_id, user_id, username, username_fold, email, email_fold, first_name, last_name, role, custom_fields, locked, created_at)
		SELECT ?2, value->>0, value->>1, value->>2, value->>1, value->>2, value->>3, value->>4, ?3, value->>5, FALSE, ?4 FROM jsonb_each(?1) WHERE TRUE`,
	lockFields: `SELECT m.id, m.custom_fields FROM json_each(?1) AS k CROSS JOIN members AS m ON m.id = k.value`,
	saveFields: `UPDATE members SET custom_fields = s.value->>1 FROM jsonb_each(?1) AS s WHERE members.id = s.value->>0`,
	addLinks: `INSERT INTO member_group_links (member_id, group_id)
		SELECT value->>0, value->>1 FROM jsonb_each(?1) WHERE TRUE`,
	addAddresses: `INSERT INTO addresses (organization_id, member_id, value, value_key, name, type)
		SELECT ?2, value->>0, value->>1, value->>2, ?3, ?4 FROM jsonb_each(?1) WHERE TRUE`,
	groups: `SELECT l.member_id, g.name
		FROM json_each(?1) AS k CROSS JOIN member_group_links AS l ON l.member_id = k.value CROSS JOIN member_groups AS g ON g.id = l.group_id`,
	held: `SELECT a.member_id FROM jsonb_each(?1) AS s
		CROSS JOIN addresses AS a ON a.organization_id = ?2 AND a.member_id = s.value->>0 AND a.value_key = s.value->>1`,
}

var enrollOnPostgres = enrollSQL{
	place: `SELECT o.id, g.id, g.name, g.name_fold
		FROM organizations AS o LEFT JOIN member_groups AS g ON g.organization_id = o.id AND (g.name_fold = $1 OR g.id = $2)
		WHERE o.slug = $3 AND o.slug <> $4`,
	// OFFSET has the planner look each of them up, whatever it takes the table for.
	byEmail: `SELECT found.* FROM unnest($1::text[]) AS k CROSS JOIN LATERAL (SELECT m.email_fold, ` + enrolledColumns + ` FROM members AS m
		WHERE m.organization_id = $2 AND m.email_fold = k AND m.email_fold <> m.username_fold OFFSET 0) AS found`,
	byUsername: `SELECT username_fold, id FROM users WHERE username_fold = ANY ($1)`,
	// + 0 hides the organization from the planner. Before it has statistics, or from stale ones, it takes an organization for small
	// and goes through all of its members, for every set.
	members: `SELECT ` + enrolledColumns + ` FROM members AS m WHERE m.user_id = ANY ($1) AND m.organization_id + 0 = $2`,
	addUsers: `INSERT INTO users (username, username_fold, created_at)
		SELECT username, key, $3 FROM unnest($1::text[], $2::text[]) AS s (username, key)`,
	addMembers: `INSERT INTO members (organization_id, user_id, username, username_fold, email, email_fold, first_name, last_name, role, custom_fields, locked, created_at)
		SELECT $7, user_id, email, key, email, key, first, last, $8, fields, FALSE, $9
		FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[]) AS s (user_id, email, key, first, last, fields)`,
	lockFields: `SELECT id, custom_fields FROM members WHERE id = ANY ($1) ORDER BY id FOR NO KEY UPDATE`,
	saveFields: `UPDATE members SET custom_fields = s.fields FROM unnest($1::bigint[], $2::text[]) AS s (id, fields) WHERE members.id = s.id`,
	addLinks: `INSERT INTO member_group_links (member_id, group_id)
		SELECT member_id, group_id FROM unnest($1::bigint[], $2::bigint[]) AS s (member_id, group_id)`,
	addAddresses: `INSERT INTO addresses (organization_id, member_id, value, value_key, name, type)
		SELECT $4, member_id, value, key, $5, $6 FROM unnest($1::bigint[], $2::text[], $3::text[]) AS s (member_id, value, key)`,
	groups: `SELECT l.member_id, g.name FROM member_group_links AS l JOIN member_groups AS g ON g.id = l.group_id WHERE l.member_id = ANY ($1)`,
	// LIMIT does the same.
	held: `SELECT s.member_id FROM unnest($1::bigint[], $2::text[]) AS s (member_id, key) CROSS JOIN LATERAL
		(SELECT FROM addresses WHERE organization_id = $3 AND member_id = s.member_id AND value_key = s.key LIMIT 1) AS a`,
}

// setConn runs statements about sets of rows on one connection.
type setConn struct {
	conn interface {
		ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
		QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	}
	dialect dialect
	replan  bool // see planned
}

// planned has Postgres plan statements each time. Else it keeps a plan, even one made while the tables were nearly empty. That is
// well where there is one way to look a row up, which is most of the time, but elsewhere such a plan may read whole tables.
func (c setConn) planned() setConn {
	c.replan = true
	return c
}

func (c setConn) exec(ctx context.Context, statement string, columns, args []any) error {
	_, err := c.conn.ExecContext(ctx, statement, c.parameters(columns, args)...)
	return err
}

// query calls row for every row of the result.
func (c setConn) query(ctx context.Context, statement string, columns, args []any, row func(*sql.Rows) error) (err error) {
	rows, err := c.conn.QueryContext(ctx, statement, c.parameters(columns, args)...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := row(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// parameters puts the columns of a set before the other parameters.
func (c setConn) parameters(columns, args []any) []any {
	if c.dialect == onPostgres {
		all := append(slices.Clone(columns), args...)
		if c.replan {
			all = slices.Insert(all, 0, any(pgx.QueryExecModeCacheDescribe)) // pgx takes it for an option
		}
		return all
	}
	if len(columns) == 0 {
		return args
	}
	return append([]any{jsonRows(columns)}, args...)
}

// jsonRows writes columns of equal length as an array of rows; of values, where there is one column.
func jsonRows(columns []any) string {
	n := 0
	var values []func(b []byte, i int) []byte
	for _, column := range columns {
		switch column := column.(type) {
		case []string:
			n = len(column)
			values = append(values, func(b []byte, i int) []byte { return appendJSON(b, column[i]) })
		case []int64:
			n = len(column)
			values = append(values, func(b []byte, i int) []byte { return strconv.AppendInt(b, column[i], 10) })
		}
	}
	b := []byte{'['}
	for i := range n {
		if i > 0 {
			b = append(b, ',')
		}
		if len(values) > 1 {
			b = append(b, '[')
		}
		for j, value := range values {
			if j > 0 {
				b = append(b, ',')
			}
			b = value(b, i)
		}
		if len(values) > 1 {
			b = append(b, ']')
		}
	}
	return string(append(b, ']'))
}

// appendJSON writes a text as JSON. Most need no escapes, and then this is much faster than encoding/json.
func appendJSON(b []byte, s string) []byte {
	if !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' }) {
		return append(append(append(b, '"'), s...), '"')
	}
	text, _ := json.Marshal(s) //nolint:errchkjson // Every text has a JSON form.
	return append(b, text...)
}
