package gormstore_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/test/pgtest/pgserver"
)

// BenchmarkEnrollImport enrolls new people in chunks of 2,000, as an import does: `-benchtime
// 1000000x` is a million of them.
func BenchmarkEnrollImport(b *testing.B) {
	const chunk = 2000
	onBoth(b, func(b *testing.B, s *gormstore.Store) {
		for _, callers := range []int{1, 2} {
			b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
				newOrganization(b, s, fmt.Sprintf("import%d-%d", callers, b.N))
				var next atomic.Int64
				var all sync.WaitGroup
				b.ResetTimer()
				for range callers {
					all.Go(func() {
						for {
							from := int(next.Add(chunk)) - chunk
							if from >= b.N {
								return
							}
							batch := users.Batch{MergeFields: true}
							for i := from; i < min(from+chunk, b.N); i++ {
								batch.Enrollments = append(batch.Enrollments, users.Enrollment{Details: users.Details{Email: fmt.Sprintf("person%d@import%d-%d.example.org", i, callers, b.N),
									FirstName: "First", LastName: "Last"}})
							}
							if err := enroll(context.Background(), s, fmt.Sprintf("import%d-%d", callers, b.N), batch); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				all.Wait()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
			})
		}
	})
}

// onBoth runs a benchmark on a SQLite file and on a Postgres with durable commits.
func onBoth(b *testing.B, run func(*testing.B, *gormstore.Store)) {
	b.Run("sqlite", func(b *testing.B) {
		run(b, open(b, "sqlite:"+filepath.Join(b.TempDir(), "x.db")))
	})
	b.Run("postgres", func(b *testing.B) {
		server, err := pgserver.Start(b.Context(), pgserver.Options{Durable: true})
		require.NoError(b, err)
		b.Cleanup(func() { _ = server.Stop() })
		run(b, open(b, server.URL()))
	})
}

func newOrganization(tb testing.TB, s *gormstore.Store, slug string) {
	tb.Helper()
	require.NoError(tb, s.Update(tb.Context(), creating(tb.Context(), slug)))
}
