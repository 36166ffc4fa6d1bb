package gormstore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/adapters/gormstore/seal"
	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/subscriptions"
	"github.com/tocsin/tocsin/ports"
	"github.com/tocsin/tocsin/test/pgtest/pgserver"
)

// wall is the clock of the machine: leases and due moments pass.
type wall struct{}

func (wall) Now() time.Time { return time.Now() }

// crowd is a database in which one event reaches many people.
type crowd struct {
	*gormstore.Store
	raw     *sql.DB
	sqlite  bool
	occurs  events.Occurrence
	channel channels.Channel
}

// newCrowdOn creates a crowd on a database of this kind with durable commits.
func newCrowdOn(b *testing.B, kind string, n int) *crowd {
	b.Helper()
	if kind == "sqlite" {
		path := filepath.Join(b.TempDir(), "bench.db")
		return newCrowd(b, n, "sqlite:"+path, "sqlite3", "file:"+path+"?_busy_timeout=60000&_txlock=immediate")
	}
	server, err := pgserver.Start(b.Context(), pgserver.Options{Durable: true})
	require.NoError(b, err)
	b.Cleanup(func() { _ = server.Stop() })
	return newCrowd(b, n, server.URL(), "pgx", server.URL())
}

// newCrowd creates the event with the store, and its recipients with SQL.
func newCrowd(b *testing.B, n int, url, driver, source string) *crowd {
	b.Helper()
	s, err := gormstore.Open(b.Context(), gormstore.Config{URL: url, AutoMigrate: true, Clock: wall{}, Keys: seal.NewRing([seal.KeySize]byte{1})})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, s.Close()) })
	c := &crowd{Store: s, sqlite: driver == "sqlite3"}
	c.raw, err = sql.Open(driver, source)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, c.raw.Close()) })
	c.raw.SetMaxOpenConns(1)
	var list lists.List
	require.NoError(b, s.Update(b.Context(), func(tx ports.Tx) error {
		org, err := tx.Orgs().Create(b.Context(), orgs.Organization{Slug: "acme", Name: "Acme"})
		require.NoError(b, err)
		project, err := tx.Orgs().CreateProject(b.Context(), orgs.Project{Organization: org.ID, Slug: "shop", Name: "Shop"})
		require.NoError(b, err)
		c.channel, err = tx.Channels().Create(b.Context(), channels.Channel{Organization: org.ID, Name: "Mail", Protocol: channels.EMAIL, Driver: "smtp", Active: true})
		require.NoError(b, err)
		app, err := tx.Applications().Create(b.Context(), applications.Application{Organization: org.ID, Project: project.ID, Slug: "web", Name: "Web", Active: true})
		require.NoError(b, err)
		list, err = tx.Lists().Create(b.Context(), lists.List{Organization: org.ID, Project: project.ID, Name: "All"})
		require.NoError(b, err)
		e, err := tx.Events().Create(b.Context(), events.Event{Organization: org.ID, Application: app.ID, Slug: "order", Name: "Order", Active: true})
		require.NoError(b, err)
		_, err = tx.Events().SaveTemplate(b.Context(), e, events.Template{Channel: c.channel.ID, Subject: "S", Text: "T"}, "eva")
		require.NoError(b, err)
		_, err = tx.Subscriptions().Create(b.Context(), subscriptions.Notification{Application: app.ID, Event: e.ID, Name: "Shipped", List: list.ID, Active: true})
		require.NoError(b, err)
		c.occurs = events.Occurrence{Organization: org.ID, Project: project.ID, Application: app.ID, Event: e.ID, Context: events.Context(`{}`)}
		_, err = tx.Keys().Create(b.Context(), access.Key{Name: "k", Grants: []access.Grant{access.EventTrigger}})
		return err
	}))
	c.people(b, n, list)
	return c
}

// people adds recipients, each with one address, in the database's own words.
func (c *crowd) people(b *testing.B, n int, l lists.List) {
	b.Helper()
	org, channel := c.occurs.Organization, c.channel.ID
	numbers := fmt.Sprintf("SELECT i, 'person' || i || '.' || md5(i::text) || '@example.org' AS e FROM generate_series(1000, %d) AS i", n+999)
	if c.sqlite {
		numbers = fmt.Sprintf("SELECT i, 'person' || i || '.' || printf('%%x', (i * 2654435761) & 4294967295) || '@example.org' AS e"+
			" FROM (WITH RECURSIVE g (i) AS (SELECT 1000 UNION ALL SELECT i + 1 FROM g WHERE i < %d) SELECT i FROM g) AS i", n+999)
	}
	if !c.sqlite {
		c.exec(b, "SET session_replication_role = replica") // no foreign keys are checked
	}
	c.exec(b, "CREATE TABLE seed AS "+numbers)
	c.exec(b, "INSERT INTO users (id, username, username_fold, created_at) SELECT i, e, e, CURRENT_TIMESTAMP FROM seed")
	c.exec(b, fmt.Sprintf("INSERT INTO members (id, organization_id, user_id, username, username_fold, email, email_fold, first_name, last_name, role, custom_fields, locked, created_at)"+
		" SELECT i, %d, i, e, e, e, e, 'First', 'Last', 'member', '{}', FALSE, CURRENT_TIMESTAMP FROM seed", org))
	c.exec(b, fmt.Sprintf("INSERT INTO addresses SELECT i, %d, i, e, e, 'email', 'email' FROM seed", org))
	c.exec(b, fmt.Sprintf("INSERT INTO assignments SELECT i, %d, i, %d, TRUE, TRUE FROM seed", org, channel))
	c.exec(b, fmt.Sprintf("INSERT INTO list_entries SELECT %d, i FROM seed", l.ID))
	c.exec(b, "DROP TABLE seed")
	if !c.sqlite {
		c.exec(b, "VACUUM ANALYZE")
		c.exec(b, "CHECKPOINT")
	}
}

func (c *crowd) exec(b *testing.B, statement string) {
	b.Helper()
	_, err := c.raw.ExecContext(b.Context(), statement)
	require.NoError(b, err, statement)
}

func (c *crowd) trigger(b *testing.B) {
	b.Helper()
	o := c.occurs
	o.Created = time.Now()
	require.NoError(b, c.Update(b.Context(), func(tx ports.Tx) error {
		_, err := tx.Deliveries().Trigger(b.Context(), []deliveries.TriggerRequest{{Occurrence: o}})
		return err
	}))
}

// expand returns when every delivery is on disk.
func (c *crowd) expand(b *testing.B, want int) {
	b.Helper()
	written := 0
	for {
		done, err := c.Queue().Expand(b.Context(), deliveries.AllOccurrences, 10_000)
		if errors.Is(err, deliveries.ErrNothingToDo) {
			break
		}
		require.NoError(b, err)
		written += done.Deliveries
	}
	require.Equal(b, want, written)
}

// floorCopy copies every delivery into a table like theirs in one statement: the floor of writing
// them.
func (c *crowd) floorCopy(b *testing.B) time.Duration {
	b.Helper()
	if c.sqlite {
		var statements string
		require.NoError(b, c.raw.QueryRowContext(b.Context(), "SELECT group_concat(sql, ';') FROM sqlite_master WHERE tbl_name = 'deliveries' AND sql <> ''").Scan(&statements))
		statements = strings.ReplaceAll(statements, "INDEX deliveries_", "INDEX twin_")
		c.exec(b, strings.ReplaceAll(strings.ReplaceAll(statements, "TABLE deliveries", "TABLE floorCopy"), "ON deliveries", "ON floorCopy"))
		c.exec(b, "PRAGMA synchronous = FULL")
		c.exec(b, "PRAGMA cache_size = -16384")
	} else {
		c.exec(b, "CREATE TABLE floorCopy (LIKE deliveries_first INCLUDING ALL EXCLUDING IDENTITY)")
		c.exec(b, "CHECKPOINT")
	}
	began := time.Now()
	c.exec(b, "INSERT INTO floorCopy SELECT * FROM deliveries ORDER BY id")
	took := time.Since(began)
	c.exec(b, "DROP TABLE floorCopy")
	return took
}

// work claims and records b.N deliveries, with this number of workers.
func (c *crowd) work(b *testing.B, workers int) {
	b.Helper()
	c.send(b, workers, b.N)
}

// send claims and records all deliveries, with this number of workers.
func (c *crowd) send(b *testing.B, workers, total int) {
	b.Helper()
	var sent atomic.Int64
	var all sync.WaitGroup
	for i := range workers {
		all.Go(func() {
			owner := fmt.Sprintf("worker-%d-1234567890abcdef", i)
			for sent.Load() < int64(total) {
				jobs, err := c.Queue().Claim(context.Background(), c.channel.ID, owner, 512, time.Minute)
				if err != nil {
					b.Error(err)
					return
				}
				outcomes := make([]deliveries.Outcome, len(jobs))
				for i, j := range jobs {
					if reason := j.Gates.Closed(); reason != "" {
						b.Error(reason)
					}
					outcomes[i] = deliveries.Outcome{ID: j.ID, State: deliveries.Sent, Attempts: j.Attempts + 1}
				}
				lost, err := c.Queue().Record(context.Background(), owner, outcomes)
				if err != nil || lost > 0 {
					b.Error(lost, err)
					return
				}
				sent.Add(int64(len(jobs)))
			}
		})
	}
	all.Wait()
}

// BenchmarkQueue measures a million of everything, or as many as -benchtime says: from a trigger to
// all deliveries on disk, beside the bare copy of the same rows; then claiming and recording all of
// them with nothing in between.
func BenchmarkQueue(b *testing.B) {
	for _, database := range []string{"sqlite", "postgres"} {
		b.Run(database, func(b *testing.B) {
			c := newCrowdOn(b, database, b.N)
			b.ResetTimer()
			c.trigger(b)
			began := time.Now()
			c.expand(b, b.N)
			expanded := time.Since(began)
			b.StopTimer()
			copied := c.floorCopy(b)
			b.StartTimer()
			began = time.Now()
			c.work(b, 2)
			worked := time.Since(began)
			n := float64(b.N)
			b.ReportMetric(n/expanded.Seconds(), "expanded/s")
			b.ReportMetric(n/copied.Seconds(), "copied/s")
			b.ReportMetric(n/worked.Seconds(), "worked/s")
		})
	}
}

// BenchmarkTrigger stores occurrences for b.N callers, 64 at a time.
func BenchmarkTrigger(b *testing.B) {
	for _, database := range []string{"sqlite", "postgres"} {
		b.Run(database, func(b *testing.B) {
			c := newCrowdOn(b, database, 1)
			c.Queue().NewWork() // there is a listener, as in a server
			b.SetParallelism(64 / runtime.GOMAXPROCS(0))
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					c.trigger(b)
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "triggers/s")
		})
	}
}

// BenchmarkOneOfMany triggers an event for one of many people on its list, until the delivery is on
// disk.
func BenchmarkOneOfMany(b *testing.B) {
	const people = 200_000
	for _, database := range []string{"sqlite", "postgres"} {
		b.Run(database, func(b *testing.B) {
			c := newCrowdOn(b, database, people)
			var address string
			require.NoError(b, c.raw.QueryRowContext(b.Context(), "SELECT value FROM addresses WHERE id = 100000").Scan(&address))
			c.occurs.Options.LimitTo = []string{address}
			b.ResetTimer()
			for range b.N {
				c.trigger(b)
				c.expand(b, 1)
			}
		})
	}
}

// BenchmarkForecast measures the forecast of an event for b.N people.
func BenchmarkForecast(b *testing.B) {
	for _, database := range []string{"sqlite", "postgres"} {
		b.Run(database, func(b *testing.B) {
			c := newCrowdOn(b, database, b.N)
			b.ResetTimer()
			require.NoError(b, c.View(b.Context(), func(tx ports.Tx) error {
				f, err := tx.Deliveries().Forecast(b.Context(), c.occurs, 5)
				require.Len(b, f.Jobs, min(5, b.N))
				require.Equal(b, b.N, f.People)
				require.Equal(b, b.N, f.Groups[0].Recipients)
				return err
			}))
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "recipients/s")
		})
	}
}
