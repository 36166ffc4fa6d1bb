package console_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/adapters/gormstore/seal"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/test/clocks"
	"github.com/tocsin/tocsin/test/harness"
	"github.com/tocsin/tocsin/test/pgtest"
)

// morning is when every test begins.
var morning = time.Date(2026, time.March, 4, 5, 6, 7, 0, time.UTC)

func keys() seal.Ring { return seal.NewRing([seal.KeySize]byte{1}) }

// master is a database on SQLite that was made once, because that takes longer than most tests, and
// is copied for each.
type master struct {
	once sync.Once
	file []byte
}

// withOrganizations has acme and globex without members.
var withOrganizations master

// copied returns a new database of a kind with acme and globex.
func copied(t *testing.T, kind string) string {
	t.Helper()
	if kind == "postgres" {
		return pgtest.Lend(t, "console", func(url string) error { return createOrganizations(context.WithoutCancel(t.Context()), url) })
	}
	return withOrganizations.copied(t, func(url string) { require.NoError(t, createOrganizations(t.Context(), url)) })
}

// copied returns a copy of the master. fill creates the master in an empty file.
func (m *master) copied(t *testing.T, fill func(url string)) string {
	t.Helper()
	m.once.Do(func() {
		dir := t.TempDir()
		fill("sqlite:" + filepath.Join(dir, "filled.db"))
		m.file = snapshot(t, filepath.Join(dir, "filled.db"))
	})
	require.NotEmpty(t, m.file, "the master could not be made")
	file := filepath.Join(t.TempDir(), "console.db")
	require.NoError(t, os.WriteFile(file, m.file, 0o600))
	return "sqlite:" + file
}

// snapshot returns the content of a database as one file.
func snapshot(t *testing.T, file string) []byte {
	t.Helper()
	pool, err := sql.Open("sqlite3", file)
	require.NoError(t, err)
	defer func() { assert.NoError(t, pool.Close()) }()
	whole := file + ".whole"
	_, err = pool.ExecContext(t.Context(), "VACUUM INTO ?", whole)
	require.NoError(t, err)
	content, err := os.ReadFile(whole)
	require.NoError(t, err)
	return content
}

// createOrganizations creates two equal organizations in an empty database.
func createOrganizations(ctx context.Context, url string) error {
	store, err := gormstore.Open(ctx, gormstore.Config{URL: url, AutoMigrate: true, Clock: clocks.At(morning), Keys: keys()})
	if err != nil {
		return err
	}
	blueprint := app.Blueprint{}
	for _, slug := range []string{"acme", "globex"} {
		blueprint.Organizations = append(blueprint.Organizations, app.BlueprintOrganization{Slug: slug, Name: "Company",
			Channels: []app.BlueprintChannel{{Name: "mail", Protocol: "EMAIL", Driver: "smtp", Preferred: true, Active: true, Settings: channels.Settings{"host": "localhost"}}},
			Projects: []app.BlueprintProject{{Slug: "shop", Name: "Shop", Lists: []app.BlueprintList{{Name: "all"}},
				Applications: []app.BlueprintApplication{{Slug: "web", Name: "Web", Active: true, Events: []app.BlueprintEvent{{Slug: "tick", Name: "Tick", Active: true,
					Templates:     []app.BlueprintTemplate{{Channel: "mail", Subject: "s", Text: "t", HTML: "<b>t</b>"}},
					Notifications: []app.BlueprintNotification{{Name: "Ticks", List: "all", Active: true}}}}}}}}})
	}
	_, err = harness.Assemble(harness.Parts{Store: store, Clock: clocks.At(morning)}).CLI.Provisioning.Apply(ctx, operators.Editor{}, blueprint, false)
	return errors.Join(err, store.Close())
}
