package gormstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// What the tests see of the inside: the parts whose promises the port does not show.

var (
	Translated = translate
	Migrations = migrations
)

const (
	MigrationLock = migrationLock

	MaxGroup    = maxGroup
	MaxAttempts = maxAttempts
)

// DividePartitionsAt sets the number of rows from which a partition of deliveries is large.
func (s *Store) DividePartitionsAt(rows int64) { s.engine.(*postgresEngine).partitionRows = rows }

// SetMaxSilence sets how long the database may take for the next row of a copy.
func (s *Store) SetMaxSilence(ctx context.Context, d time.Duration) error {
	return s.ReadTables(ctx, func(ports.Tables, ports.Tx) error {
		s.schema.Load().Silence = d
		return nil
	})
}

// AwaitUpkeep waits for the work on partitions that runs.
func (s *Store) AwaitUpkeep() { s.engine.(*postgresEngine).maintenance.running.Wait() }

// EndUpkeepRest makes the next call work on partitions at once.
func (s *Store) EndUpkeepRest() {
	u := &s.engine.(*postgresEngine).maintenance
	u.mu.Lock()
	defer u.mu.Unlock()
	u.last = time.Time{}
}

// PlannerSettings have a session of Postgres plan as the transactions of a store do.
var PlannerSettings = strings.ReplaceAll(setLocal(plannerSettings...), "true)", "false)")

// SearchWords is the statement that finds people by the beginning of a word.
const SearchWords = searchWords

// ToMember returns the statement that finds a page of the deliveries to a member.
func ToMember(failed, newer bool) string {
	sql, _ := memberDeliveries(failed, newer)
	return sql
}

// SearchStatements returns the statements of a query for each of its sources, by the columns of the
// source. The second of each two selects the members.
func SearchStatements(q users.Query) map[string][2]string {
	s := search{userRepo: userRepo{tx{dialect: onSQLite}}, org: 1, q: q, terms: users.Terms(q.Text)}
	all := map[string][2]string{}
	for _, by := range append(s.sets(), s.allMembers(), source{order: users.ByWord, term: "a", set: "member_words"}) {
		c := s.conditions(by)
		c.add("m.id ?", among(onSQLite, []users.MemberID{1}))
		picks, _ := c.query()
		places := strings.NewReplacer("@org", "1", "@from", "'a'", "@to", "'b'", "@after", "'a'", "@id", "1", "@limit", "10").Replace(searchWords)
		if by.order != users.ByWord {
			places = by.entriesSQL()
		}
		all[by.set] = [2]string{places, strings.Replace(picks, "m.id ?", "m.id IN (SELECT value FROM json_each(?))", 1)}
	}
	return all
}

// SortedPlaces returns the statement that reads fifty people in an order from a position, with its
// parameters inserted.
func SortedPlaces(postgres bool, by users.Sort, after users.Cursor) string {
	s := search{userRepo: userRepo{tx{dialect: onSQLite}}, org: 1, q: users.Query{Sort: by}}
	if postgres {
		s.dialect = onPostgres
	}
	sql, args := s.sorted().sortedSQL(after)
	for _, a := range append(args, 50) {
		text := fmt.Sprint(a)
		if _, is := a.(string); is {
			text = "'" + text + "'"
		}
		sql = strings.Replace(sql, "?", text, 1)
	}
	return sql
}

// PlacePages returns the first statements of pages of subscribers and opt-outs, by the name of the
// index that each reads in its order, with these values instead of parameters.
func PlacePages(values *strings.Replacer) map[string]string {
	pages := map[string]string{"subscriptions_notification_id_assignment_id_key": subscriberPage, "opt_outs_notification": optOutPage}
	for name, sql := range pages {
		pages[name] = values.Replace(sql)
	}
	return pages
}

// PlaceLookups returns the statements that look up recipients for the results of a search, by name.
func PlaceLookups(dialect string) map[string]string {
	d, set := onSQLite, `SELECT value ->> 'id' AS id FROM jsonb_each('[]')`
	if dialect == onPostgres.String() {
		d, set = onPostgres, "SELECT * FROM json_to_recordset('[]'::json) AS r(id bigint)"
	}
	return map[string]string{"recipients": strings.NewReplacer("@set", set, "@list", "1", "@most", "1000").Replace(entriesOfMembers(d))}
}

// Rows returns the structs that represent rows of tables.
func Rows() []any {
	return []any{acceptanceRow{}, accountRow{}, addressRow{}, applicationRow{}, auditRow{}, buildRow{}, channelRow{}, deviceRow{}, eventRow{}, importRow{}, creationsRow{}, invitationRow{}, mailboxRow{}, keyRow{}, assignmentSetRow{}, listRow{}, mappingRow{}, organizationRow{},
		projectRow{}, rejectRow{}, revisionRow{}, groupRow{}, attemptRow{}, identityRow{}, logoutTokenRow{}, notificationRow{}, occurrenceRow{}, optOutRow{}, partialRow{}, partialVersionRow{}, passkeyRow{}, pieceRow{}, providerSessionRow{}, rateRow{}, recoveryRow{}, requestRow{}, sessionRow{}, shareRow{}, snoozeRow{}, stateRow{}, stepRow{}, totpRow{}, usageRow{}, versionRow{}, workerRow{}}
}

// Handle returns the database handle of the store.
func (s *Store) Handle() *sql.DB {
	switch e := s.engine.(type) {
	case *sqliteEngine:
		return e.writePool
	case *postgresEngine:
		return e.sqlDB
	}
	return nil
}

// OnPostgres reports whether a store is on Postgres.
func (s *Store) OnPostgres() bool {
	_, is := s.engine.(*postgresEngine)
	return is
}

// OnCommit calls fn before each commit of a store on SQLite. The commit fails when fn returns
// false.
func (s *Store) OnCommit(ctx context.Context, fn func() bool) error {
	conn, err := s.Handle().Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	return conn.Raw(func(c any) error {
		c.(sqliteConn).RegisterCommitHook(func() int {
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
	e := &postgresEngine{retrySlot: make(chan struct{}, 1)}
	return e.retried(ctx, attempt)
}

// Matches, SaveFields and WithGroups are those statements of an enrollment that do not just add
// rows.
func (s *Store) Matches() string {
	statement, _ := matchesSQL(s.engineDialect(), nil)
	return statement
}

// MatchedBytes returns the statement of MatchedBytes.
func (s *Store) MatchedBytes() string {
	statement, _ := matchedBytesSQL(s.engineDialect(), nil)
	return statement
}
func (s *Store) SaveFields() string {
	return saveFieldsSQL(changedFieldsSet(s.engineDialect(), nil, nil))
}
func (s *Store) WithGroups() string { return withGroups(s.engineDialect()) }

func (s *Store) engineDialect() dialect {
	if s.OnPostgres() {
		return onPostgres
	}
	return onSQLite
}

// Notify wakes other instances.
func (s *Store) Notify() { s.notifier.notify() }

// HearOthers calls heard for each notification of another instance, and once at the beginning.
// NotifyOthers wakes other instances and returns when they are.
func (s *Store) HearOthers(ctx context.Context, heard func()) error {
	return s.engine.listen(ctx, heard)
}
func (s *Store) NotifyOthers(ctx context.Context) error { return s.engine.notify(ctx) }

// SettingsOfWork returns what a setting of Postgres is in each kind of work.
func (s *Store) SettingsOfWork(ctx context.Context, setting string) (brief, sets, repeated string, err error) {
	q, ask := queue{s}, func(ctx context.Context, into *string) func(tx) error {
		return func(t tx) error { return t.db(ctx).Raw("SELECT current_setting(?)", setting).Scan(into).Error }
	}
	quick := withTimeoutClass(ctx, timeoutShort)
	err = errors.Join(q.work(quick, ask(quick, &brief)), q.work(ctx, ask(ctx, &sets)), q.workAsync(ctx, ask(ctx, &repeated)))
	return brief, sets, repeated, err
}

// FullFor is how long a disk counts as full.
const FullFor = fullFor

// PassFull moves the time when the disk was found full into the past.
func (s *Store) PassFull(d time.Duration) { s.fullAt.Add(-int64(d)) }

// LogBlockers logs the sessions that block a session of Postgres, ten times.
func (s *Store) LogBlockers(ctx context.Context, logger *slog.Logger, session int32, every time.Duration) {
	s.engine.(*postgresEngine).logBlockers(ctx, logger, func() int32 { return session }, every)
}

// AddressedTwice reports whether an expansion met an address of an organization a second time.
func (s *Store) AddressedTwice(o orgs.ID) bool { return s.duplicates.has(o) }

// Read returns the rows of a query in a unit of work.
func Read(ctx context.Context, unit ports.Tx, query string) (found [][]any, err error) {
	rows, err := unit.(tx).db(ctx).Raw(query).Rows()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		row, to := make([]any, len(columns)), make([]any, len(columns))
		for i := range row {
			to[i] = &row[i]
		}
		if err := rows.Scan(to...); err != nil {
			return nil, err
		}
		found = append(found, row)
	}
	return found, rows.Err()
}

// LockShared locks at most n deliveries of a class that were never claimed, as if these projects
// had some.
func (s *Store) LockShared(ctx context.Context, channel channels.ID, p events.Priority, projects []orgs.ProjectID, n int) (locked int, err error) {
	q, _ := s.Queue().(queue)
	err = q.work(ctx, func(t tx) error {
		found, err := classLock{tx: t, channel: channel, priority: p}.shared(ctx, projects, n)
		locked = len(found)
		return err
	})
	return locked, err
}
