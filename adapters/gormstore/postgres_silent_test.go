package gormstore_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
	"github.com/tocsin/tocsin/test/databases"
	"github.com/tocsin/tocsin/test/pgtest/pgproxy"
)

// brisk is a statement timeout short enough to wait for. Statements about sets may take three times
// as long.
const brisk = time.Second

// openThrough opens a store whose connections go through a proxy. The options are added to its URL.
func openThrough(t *testing.T, url, options string, c gormstore.Config) (*pgproxy.Proxy, *gormstore.Store) {
	t.Helper()
	p, err := pgproxy.Start(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.Close()) })
	c.URL, c.AutoMigrate, c.Clock = p.URL()+options, true, wall{}
	s, err := gormstore.Open(t.Context(), c)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	return p, s
}

// proxied returns a path to a database that can be cut, and a store that goes that way. The store's
// pool is full of connections.
func proxied(t *testing.T, url string, heard func(message string)) (*pgproxy.Proxy, *gormstore.Store) {
	t.Helper()
	p, s := openThrough(t, url, "&pool_max_conns=4&connect_timeout=1",
		gormstore.Config{StatementTimeout: brisk, Logger: slog.New(hook{slog.DiscardHandler, heard})})
	fill(t, s)
	return p, s
}

func ignored(string) {}

// fill makes the pool open all its connections.
func fill(t *testing.T, s *gormstore.Store) {
	t.Helper()
	var inside, all sync.WaitGroup
	inside.Add(4)
	for range 4 {
		all.Go(func() {
			assert.NoError(t, s.View(t.Context(), func(ports.Tx) error {
				inside.Done()
				inside.Wait()
				return nil
			}))
		})
	}
	all.Wait()
}

// everything returns each kind of call of a process, without a deadline of the caller.
func everything(s *gormstore.Store) map[string]func() error {
	ctx := context.Background()
	q := s.Queue()
	return map[string]func() error{
		"View": func() error {
			return s.View(ctx, func(tx ports.Tx) error { _, err := tx.Orgs().BySlug(ctx, "acme"); return err })
		},
		"Update": func() error { return s.Update(ctx, creating(ctx, "acme")) },
		"Enroll": func() error {
			return enroll(ctx, s, "acme", users.Batch{Enrollments: []users.Enrollment{{Details: users.Details{Email: "a@example.org"}}}})
		},
		"Ready":  func() error { return s.Ready(ctx) },
		"Expand": func() error { _, err := q.Expand(ctx, deliveries.AllOccurrences, 10); return err },
		"Due":    func() error { _, err := q.Due(ctx); return err },
		"Claim":  func() error { _, err := q.Claim(ctx, 1, "w", 10, time.Minute); return err },
		"Renew":  func() error { _, err := q.Renew(ctx, "w", []deliveries.ID{1}, time.Minute); return err },
		"Record": func() error {
			_, err := q.Record(ctx, "w", []deliveries.Outcome{{ID: 1, State: deliveries.Sent}})
			return err
		},
		"Channel":     func() error { _, err := q.Channel(ctx, 1); return err },
		"RenderInput": func() error { _, err := q.RenderInput(ctx, events.Occurrence{ID: 1}, 1, 1); return err },
		"Occurrences": func() error { _, err := q.Occurrences(ctx, []events.OccurrenceID{1}); return err },
		"Purge":       func() error { _, err := q.Purge(ctx, deliveries.Expiry{Requests: time.Now()}, 10); return err },
		"Heartbeat":   func() error { _, err := q.Heartbeat(ctx, deliveries.Presence{Owner: "w"}); return err },
		"Leave":       func() error { return q.Leave(ctx, "w") },
	}
}

// within returns what fn returns, which must be soon.
func within(t *testing.T, limit time.Duration, name string, fn func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- fn() }()
	select {
	case err := <-done:
		return err
	case <-time.After(limit):
		require.FailNow(t, "it hangs", name)
		return nil
	}
}

func TestSilentDatabase(t *testing.T) {
	t.Parallel()
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		t.Run("EveryCallIsGivenUp", func(t *testing.T) {
			t.Parallel()
			p, s := proxied(t, databases.Postgres(t), ignored)
			newOrganization(t, s, "acme")
			fill(t, s)
			p.Cut()
			var all sync.WaitGroup
			for name, call := range everything(s) {
				all.Go(func() { assert.ErrorIs(t, within(t, 30*time.Second, name, call), ports.ErrUnavailable, name) })
			}
			all.Wait()
			p.Heal()
			healed := time.Now()
			for name, call := range everything(s) {
				assert.NotErrorIs(t, within(t, 15*time.Second, name, call), ports.ErrUnavailable, name)
			}
			assert.Less(t, time.Since(healed), 15*time.Second)
		})
		t.Run("RunningStatementToo", func(t *testing.T) {
			t.Parallel()
			p, s := proxied(t, databases.Postgres(t), ignored)
			err := within(t, 30*time.Second, "Update", func() error {
				return s.Update(context.Background(), func(tx ports.Tx) error {
					_, err := tx.Orgs().BySlug(context.Background(), "acme")
					p.Cut()
					if err := creating(context.Background(), "acme")(tx); err != nil {
						return err
					}
					return err
				})
			})
			require.ErrorIs(t, err, ports.ErrUnavailable)
			p.Heal()
			require.NoError(t, within(t, 15*time.Second, "Update", func() error { return s.Update(context.Background(), creating(context.Background(), "acme")) }))
		})
		t.Run("OneDeadConnectionDropsAll", func(t *testing.T) {
			t.Parallel()
			const patient = 4 * time.Second // A dead connection that is tried takes as long.
			p, s := openThrough(t, databases.Postgres(t), "&pool_max_conns=4&connect_timeout=4", gormstore.Config{StatementTimeout: patient})
			fill(t, s)
			p.Cut()
			require.ErrorIs(t, within(t, 30*time.Second, "Due", func() error { _, err := s.Queue().Due(context.Background()); return err }), ports.ErrUnavailable)
			p.Heal()
			healed := time.Now()
			require.NoError(t, s.Ready(context.Background()))
			assert.Less(t, time.Since(healed), patient, "none of the connections from before is tried")
		})
		t.Run("TheNotifierListensAgain", func(t *testing.T) {
			t.Parallel()
			url := databases.Postgres(t)
			other := open(t, url)
			lost := make(chan struct{}, 1)
			p, s := proxied(t, url, func(message string) {
				if strings.Contains(message, "notifications") {
					select {
					case lost <- struct{}{}:
					default:
					}
				}
			})
			woken := s.Queue().NewWork()
			<-woken // It listens.
			p.Cut()
			select {
			case <-lost:
			case <-time.After(30 * time.Second):
				require.FailNow(t, "nobody notices that nothing is heard")
			}
			p.Heal()
			select {
			case <-woken: // It listens again.
			case <-time.After(15 * time.Second):
				require.FailNow(t, "it does not listen again")
			}
			other.Notify()
			select {
			case <-woken:
			case <-time.After(15 * time.Second):
				require.FailNow(t, "it does not hear")
			}
		})
	})
}

// hook calls a function for every record, which is not passed on.
type hook struct {
	slog.Handler
	heard func(message string)
}

func (h hook) Enabled(context.Context, slog.Level) bool { return true }

func (h hook) Handle(_ context.Context, r slog.Record) error {
	h.heard(r.Message)
	return nil
}
