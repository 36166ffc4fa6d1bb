package app_test

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/adapters/gormstore/seal"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/app/batch"
	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
	"github.com/tocsin/tocsin/test/clocks"
	"github.com/tocsin/tocsin/test/pgtest/pgserver"
)

var web = app.Path{Organization: "acme", Project: "shop", Application: "web"}

// BenchmarkCreate creates members of an organization, with one caller and with 64: new ones, and
// then the first hundred again.
func BenchmarkCreate(b *testing.B) {
	byCallers(b, func(store ports.Store) func(ctx context.Context, name string) error {
		use := app.NewUsers(store, batch.Pair)
		return func(ctx context.Context, name string) error {
			_, err := use.Create(ctx, audit.Actor{}, web, users.Enrollment{Details: users.Details{Email: name, FirstName: "Ada", LastName: "Lovelace"}})
			return err
		}
	})
}

// BenchmarkRegister does the same with the register call.
func BenchmarkRegister(b *testing.B) {
	byCallers(b, func(store ports.Store) func(ctx context.Context, name string) error {
		use := app.NewApplications(store, nil, batch.Pair)
		return func(ctx context.Context, name string) error {
			_, err := use.Register(ctx, audit.Actor{}, web, app.Registration{
				User: users.User{Username: name}, Details: users.Details{Email: name, FirstName: "Ada", LastName: "Lovelace"}, CustomFields: metadata.Map{"plan": "pro"}, Active: true,
				Addresses: []app.RegisteredAddress{{Address: users.NewEmailAddress(name), ToPreferred: true}}, List: "news",
			})
			return err
		}
	})
}

// byCallers measures a call about a person on both databases.
func byCallers(b *testing.B, prepare func(ports.Store) func(ctx context.Context, name string) error) {
	b.Helper()
	for _, database := range []string{"sqlite", "postgres"} {
		b.Run(database, func(b *testing.B) {
			call := prepare(shopOn(b, database))
			var last atomic.Int64
			for _, callers := range []int{1, 64} {
				for _, kind := range []string{"new", "known"} {
					name := func() int64 {
						n := last.Add(1)
						if kind == "known" {
							n = n%100 + 1
						}
						return n
					}
					b.Run(fmt.Sprintf("%s/callers=%d", kind, callers), func(b *testing.B) {
						b.SetParallelism((callers + runtime.GOMAXPROCS(0) - 1) / runtime.GOMAXPROCS(0))
						one := func() {
							if err := call(context.Background(), fmt.Sprintf("person%d@example.org", name())); err != nil {
								b.Error(err)
							}
						}
						if callers == 1 {
							for b.Loop() {
								one()
							}
						} else {
							b.RunParallel(func(pb *testing.PB) {
								for pb.Next() {
									one()
								}
							})
						}
						b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
					})
				}
			}
		})
	}
}

// shopOn returns an installation on a SQLite file, or on a Postgres that syncs its commits.
func shopOn(b *testing.B, database string) ports.Store {
	b.Helper()
	url := "sqlite:" + filepath.Join(b.TempDir(), "x.db")
	if database == "postgres" {
		server, err := pgserver.Start(b.Context(), pgserver.Options{Durable: true})
		require.NoError(b, err)
		b.Cleanup(func() { _ = server.Stop() })
		url = server.URL()
	}
	store, err := gormstore.Open(b.Context(), gormstore.Config{URL: url, AutoMigrate: true, Clock: clocks.Wall{}, Keys: seal.NewRing(keyA)})
	require.NoError(b, err)
	b.Cleanup(func() { _ = store.Close() })
	ctx := b.Context()
	require.NoError(b, store.Update(ctx, func(tx ports.Tx) error {
		o, err := tx.Orgs().Create(ctx, orgs.Organization{Slug: web.Organization, Name: "Acme"})
		require.NoError(b, err)
		p, err := tx.Orgs().CreateProject(ctx, orgs.Project{Organization: o.ID, Slug: web.Project, Name: "Shop"})
		require.NoError(b, err)
		_, err = tx.Applications().Create(ctx, applications.Application{Organization: o.ID, Project: p.ID, Slug: web.Application, Name: "Web", Active: true})
		require.NoError(b, err)
		_, err = tx.Channels().Create(ctx, channels.Channel{Organization: o.ID, Name: "mail", Protocol: channels.EMAIL, Driver: "smtp", Preferred: true, Active: true})
		require.NoError(b, err)
		_, err = tx.Lists().Create(ctx, lists.List{Organization: o.ID, Project: p.ID, Name: "news"})
		return err
	}))
	return store
}
