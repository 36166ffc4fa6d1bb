package indexer_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/app/indexer"
	"github.com/tocsin/tocsin/app/watchdog"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
	"github.com/tocsin/tocsin/test/clocks"
	"github.com/tocsin/tocsin/test/databases"
)

// TestIndexesWhatWaits is about two processes that index a large import at the same time.
func TestIndexesWhatWaits(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]string{"sqlite": "sqlite::memory:", "postgres": databases.Postgres(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := gormstore.Open(t.Context(), gormstore.Config{URL: url, Clock: clocks.Wall{}, AutoMigrate: true})
			require.NoError(t, err)
			t.Cleanup(func() { assert.NoError(t, s.Close()) })
			var org orgs.Organization
			require.NoError(t, s.Update(t.Context(), func(tx ports.Tx) (err error) {
				if org, err = tx.Orgs().Create(t.Context(), orgs.Organization{Slug: "acme", Name: "Acme"}); err != nil {
					return err
				}
				var b users.Batch
				for i := range 1_200 {
					b.Enrollments = append(b.Enrollments, users.Enrollment{Details: users.Details{Email: fmt.Sprintf("person%d@example.org", i)}})
				}
				_, err = app.Enroll(t.Context(), tx, "acme", b)
				return err
			}))
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			var running sync.WaitGroup
			for range 2 {
				log := slog.New(slog.DiscardHandler)
				running.Go(func() {
					indexer.New(s, clocks.Wall{}, watchdog.New(clocks.Wall{}, log), ports.Untraced{}, time.Millisecond).Run(ctx)
				})
			}
			waiting := func() (n int) {
				require.NoError(t, s.View(t.Context(), func(tx ports.Tx) error {
					is, err := tx.Users().Indexing(t.Context(), org.ID)
					n = is.Waiting
					return err
				}))
				return n
			}
			require.Eventually(t, func() bool { return waiting() == 0 }, time.Minute, 5*time.Millisecond)
			stop()
			running.Wait()
			require.NoError(t, s.View(t.Context(), func(tx ports.Tx) error {
				found, err := tx.Users().Search(t.Context(), org.ID, users.Query{Text: "person1199", Limit: 10})
				assert.Len(t, found.Members, 1)
				return err
			}))
		})
	}
}
