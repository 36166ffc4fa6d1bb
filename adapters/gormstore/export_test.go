package gormstore

import (
	"context"
	"database/sql"
	"strings"

	"github.com/mattn/go-sqlite3"

	"github.com/tocsin/tocsin/domain/users"
)

// What the tests see of the inside: the parts whose promises the port does not show.

var (
	Translated = translated
	Migrations = migrations
)

const (
	MaxGroup    = maxGroup
	MaxAttempts = maxAttempts
)

// SearchNamed is the statement that finds people by the beginning of their names.
const SearchNamed = searchNamed

// SearchStatements are the statements with which a query goes along each of its sources, by way of the source's columns; the second of each
// two picks the members.
func SearchStatements(q users.Query) map[string][2]string {
	s := search{userRepo: userRepo{tx{dialect: onSQLite}}, org: 1, q: q}
	all := map[string][2]string{}
	for _, by := range append(s.sets(), s.everybody()) {
		c := s.conditions(by)
		c.add("m.id ?", among(onSQLite, []users.MemberID{1}))
		picks, _ := c.query()
		all[by.set] = [2]string{by.places(), strings.Replace(picks, "m.id ?", "m.id IN (SELECT value FROM json_each(?))", 1)}
	}
	return all
}

// Rows are the structs that stand for a row of a table.
func Rows() []any {
	return []any{accountRow{}, addressRow{}, applicationRow{}, auditRow{}, channelRow{}, eventRow{}, importRow{}, invitationRow{}, keptRow{}, keyRow{}, listRow{}, organizationRow{},
		projectRow{}, rejectRow{}, groupRow{}, notificationRow{}, occurrenceRow{}, requestRow{}, sessionRow{}, versionRow{}}
}

// Handle is the store's database, as its own statements reach it.
func (s *Store) Handle() *sql.DB {
	switch e := s.engine.(type) {
	case *sqliteEngine:
		return e.writing
	case *postgresEngine:
		return e.sqlDB
	}
	return nil
}

// OnCommit has fn called before each commit of a store on SQLite; the commit fails when it returns false.
func (s *Store) OnCommit(ctx context.Context, fn func() bool) error {
	conn, err := s.Handle().Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	return conn.Raw(func(c any) error {
		c.(*sqlite3.SQLiteConn).RegisterCommitHook(func() int {
			if fn() {
				return 0
			}
			return 1
		})
		return nil
	})
}

// Retried runs a unit of work as Update does on Postgres.
func Retried(ctx context.Context, attempt func() error) error {
	e := &postgresEngine{lane: make(chan struct{}, 1)}
	return e.retried(ctx, attempt)
}

// Lookups are those statements of Enroll that do not just add rows, by name.
func Lookups(dialect string) map[string]string {
	s := enrollOnSQLite
	if dialect == onPostgres.String() {
		s = enrollOnPostgres
	}
	return map[string]string{"byEmail": s.byEmail, "byUsername": s.byUsername, "members": s.members, "lockFields": s.lockFields,
		"saveFields": s.saveFields, "groups": s.groups}
}
