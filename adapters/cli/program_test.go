package cli_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/cli"
	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/adapters/gormstore/seal"
	"github.com/tocsin/tocsin/adapters/mailbox"
	"github.com/tocsin/tocsin/app/backup"
	"github.com/tocsin/tocsin/app/delivery"
	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/ports"
	"github.com/tocsin/tocsin/test/databases"
	"github.com/tocsin/tocsin/test/harness"
)

// frozen is a clock that stands still.
type frozen struct{}

func (frozen) Now() time.Time { return time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC) }

// fixture is the program on its own database, with the output of the last command.
type fixture struct {
	cli.Program
	database string
	keys     seal.Ring
	out, err bytes.Buffer
	wrap     func(ports.Store) ports.Store // between the use cases and the database
	open     int                           // open databases
	opened   int

	provider    *provider     // behind the driver fake
	sendTimeout time.Duration // of channel test
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	d := &fixture{database: strings.TrimPrefix(databases.SQLite(t), "sqlite:"), keys: seal.NewRing(firstKey), wrap: func(s ports.Store) ports.Store { return s },
		provider: &provider{}, sendTimeout: 100 * time.Millisecond}
	nowhere := func(*pflag.FlagSet) (cli.Endpoint, error) { return cli.Endpoint{}, errors.New("there is no server") }
	d.Program = cli.Program{
		Version: "1.2.3", In: strings.NewReader(""), Out: &d.out, Err: &d.err,
		Flags:       func(f *pflag.FlagSet) { f.String("config", "", "Configuration file") },
		ServerFlags: func(f *pflag.FlagSet) { f.String("listen", "", "Where the server listens") },
		Settings:    func(*pflag.FlagSet) ([]cli.Setting, error) { return nil, nil },
		Check:       func(*pflag.FlagSet) error { return nil },
		Listen:      nowhere,
		Serve:       func(context.Context, *pflag.FlagSet, cli.ServeOptions) error { return nil },
		Work:        func(context.Context, *pflag.FlagSet) error { return nil },
		Migrate:     func(context.Context, *pflag.FlagSet) ([]cli.Migration, error) { return nil, nil },
		Migrations:  func(context.Context, *pflag.FlagSet) ([]cli.Migration, error) { return nil, nil },
		MigrationPlan: func(context.Context, *pflag.FlagSet) ([]cli.PlannedStep, error) {
			return []cli.PlannedStep{{Migration: "00042_more", Statement: "CREATE INDEX a_b ON a (b)", Table: "a", Lock: "SHARE", Work: "reads all rows", Rows: 1200, Blocks: true},
				{Migration: "00043_new", Statement: "CREATE TABLE b (id BIGINT)", Table: "b", Lock: "none", Work: "a moment", Rows: -1}}, nil
		},
		Backup: func(context.Context, *pflag.FlagSet, string, bool) (backup.Summary, string, error) {
			return backup.Summary{}, "", nil
		},
		Restore: func(context.Context, *pflag.FlagSet, string, audit.Actor) (backup.Summary, error) {
			return backup.Summary{}, nil
		},
		Copy: func(context.Context, *pflag.FlagSet, cli.CopyOptions) (backup.Summary, error) {
			return backup.Summary{}, nil
		},
		Verify: func(context.Context, *pflag.FlagSet) ([]ports.Finding, error) { return nil, nil },
		Open: func(ctx context.Context, _ *pflag.FlagSet, _ bool) (cli.Services, func(), error) {
			store, err := gormstore.Open(ctx, gormstore.Config{URL: "sqlite:" + d.database, AutoMigrate: true, Clock: frozen{}, Keys: d.keys})
			if err != nil {
				return cli.Services{}, nil, err
			}
			d.open++
			d.opened++
			use := harness.Assemble(d.parts(d.wrap(store)))
			return use.CLI, func() {
				d.open--
				assert.NoError(t, store.Close())
			}, nil
		},
	}
	t.Cleanup(func() { assert.Zero(t, d.open, "every database that is opened is closed") })
	return d
}

// parts returns the parts of the fixture's installation on a store.
func (d *fixture) parts(s ports.Store) harness.Parts {
	return harness.Parts{Store: s, Clock: frozen{}, Policy: operators.Policy{Issuer: "https://id.example", BreakGlass: "root"},
		Drivers: delivery.Drivers{d.provider, mailbox.New(s)}, SendTimeout: d.sendTimeout}
}

// use returns the use cases of another process on the fixture's database.
func (d *fixture) use(t *testing.T) harness.UseCases {
	t.Helper()
	return harness.Assemble(d.parts(d.store(t)))
}

// run executes a command line and returns the exit status.
func (d *fixture) run(t *testing.T, args ...string) int {
	t.Helper()
	d.out.Reset()
	d.err.Reset()
	return d.Run(t.Context(), args)
}

// done executes a command line, checks that it succeeds, and returns its standard output.
func (d *fixture) done(t *testing.T, args ...string) string {
	t.Helper()
	require.Zero(t, d.run(t, args...), "%q failed: %s", args, d.err.String())
	return d.out.String()
}

// store opens the fixture's database for inspection.
func (d *fixture) store(t *testing.T) ports.Store {
	t.Helper()
	store, err := gormstore.Open(t.Context(), gormstore.Config{URL: "sqlite:" + d.database, AutoMigrate: true, Clock: frozen{}, Keys: d.keys})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, store.Close()) })
	return store
}

func TestUsageErrors(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 201)
	for name, c := range map[string]struct {
		args []string
		says string // on standard error, the last line
	}{
		"NoCommand":             {nil, "which command?"},
		"NoSubcommand":          {[]string{"key"}, "which command?"},
		"UnknownCommand":        {[]string{"reboot"}, `unknown command "reboot", see tocsin --help`},
		"MisspeltCommand":       {[]string{"serv"}, `unknown command "serv", did you mean "serve"? See tocsin --help`},
		"MisspeltSubcommand":    {[]string{"key", "revok", "x"}, `unknown command "revok", did you mean "revoke"? See tocsin key --help`},
		"UnknownFlag":           {[]string{"serve", "--port", "1"}, "unknown flag: --port, see tocsin serve --help"},
		"UnknownShortFlag":      {[]string{"version", "-x"}, "unknown shorthand flag: 'x' in -x, see tocsin version --help"},
		"FlagOfAnotherCommand":  {[]string{"version", "--listen", ":1"}, "unknown flag: --listen, see tocsin version --help"},
		"FlagWithoutItsValue":   {[]string{"apply", "-f"}, "flag needs an argument: 'f' in -f, see tocsin apply --help"},
		"ArgumentTooMany":       {[]string{"serve", "now"}, `the argument "now" means nothing here, see tocsin serve --help`},
		"UnknownShell":          {[]string{"completion", "tcsh"}, `unknown command "tcsh", did you mean "bash"? See tocsin completion --help`},
		"HelpOfNothing":         {[]string{"help", "reboot"}, `there is no command "reboot", see tocsin --help`},
		"HelpOfTooMuch":         {[]string{"help", "key", "drop"}, `there is no command "key drop", see tocsin --help`},
		"ApplyWithoutAFile":     {[]string{"apply"}, "which file? Name it with -f, or standard input with -f -"},
		"ApplyInAnotherForm":    {[]string{"apply", "-f", "x", "-o", "xml"}, `invalid argument "xml" for "-o, --output" flag: must be table or json, see tocsin apply --help`},
		"RevokeWithoutAName":    {[]string{"key", "revoke"}, "NAME is missing, see tocsin key revoke --help"},
		"RevokeOfTwo":           {[]string{"key", "revoke", "a", "b"}, "NAME is one argument, but there are 2, see tocsin key revoke --help"},
		"ImportWithoutAFile":    {[]string{"import", "users"}, "PATH is missing, see tocsin import users --help"},
		"GroupThatHasNoName":    {[]string{"import", "users", "x", "--create-group"}, "--create-group needs --group"},
		"DeleteOfANoun":         {[]string{"delete", "project", "acme/shop"}, `unknown command "project", see tocsin delete --help`},
		"DeleteWithoutAProject": {[]string{"delete", "list", "acme"}, "path: must be ORGANIZATION/PROJECT/LIST"},
		"KeyWithoutAName":       {[]string{"key", "create", "--grant", "user:read"}, "name: is required"},
		"KeyWithoutAGrant":      {[]string{"key", "create", "--name", "x"}, "grant: at least one is required"},
		"KeyWithAnUnknownGrant": {[]string{"key", "create", "--name", "x", "--grant", "user:read,root"}, `grant: there is no grant "root"; there is ` + strings.ReplaceAll(strings.Trim(fmt.Sprint(access.Grants()), "[]"), " ", ", ")},
		"KeyWithALongName":      {[]string{"key", "create", "--name", long, "--grant", "user:read"}, "name: is longer than 200 characters"},
		"KeyOfOnlyAProject":     {[]string{"key", "create", "--name", "x", "--grant", "user:read", "--project", "shop"}, "project: needs an organization"},
		"KeyThatHasExpired":     {[]string{"key", "create", "--name", "x", "--grant", "user:read", "--expires", "-1h"}, `invalid argument "-1h" for "--expires" flag: must be a time such as 45m, 12h or 90d, see tocsin key create --help`},
		"KeyForNoTime":          {[]string{"key", "create", "--name", "x", "--grant", "user:read", "--expires", "0d"}, `invalid argument "0d" for "--expires" flag: must be a time such as 45m, 12h or 90d, see tocsin key create --help`},
		"KeyForATimeOfNoUnit":   {[]string{"key", "create", "--name", "x", "--grant", "user:read", "--expires", "90"}, `invalid argument "90" for "--expires" flag: must be a time such as 45m, 12h or 90d, see tocsin key create --help`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newFixture(t)
			assert.Equal(t, 2, d.run(t, c.args...))
			lines := strings.Split(strings.TrimSpace(d.err.String()), "\n")
			assert.Equal(t, "tocsin: "+c.says, lines[len(lines)-1])
			assert.Empty(t, d.out.String(), "errors do not go to standard output")
			assert.Zero(t, d.opened, "the database is left alone")
		})
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		name := c.CommandPath()
		assert.NotEmpty(t, c.Short, name)
		assert.NotRegexp(t, `\.$`, c.Short, name)
		generated := strings.HasPrefix(name, "tocsin completion") || strings.HasPrefix(name, "tocsin help")
		if !c.HasSubCommands() && !generated {
			assert.Contains(t, c.Example, name, "%s has an example", name)
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) { assert.NotEmpty(t, f.Usage, "%s --%s", name, f.Name) })
		path := strings.Fields(name)[1:]
		help := d.done(t, append(slices.Clone(path), "--help")...)
		assert.Equal(t, help, d.done(t, append([]string{"help"}, path...)...))
		assert.Contains(t, help, "Usage:", name)
		for line := range strings.SplitSeq(c.Long, "\n") {
			assert.LessOrEqual(t, len([]rune(line)), 130, "%s: %s", name, line)
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(d.Root())
	for _, g := range access.Grants() {
		assert.Contains(t, d.done(t, "help", "key", "create"), string(g))
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	assert.Regexp(t, `^tocsin 1\.2\.3 \(go[^ ]+, \w+/\w+\)\n$`, d.done(t, "version"))
	assert.Equal(t, "tocsin 1.2.3\n", d.done(t, "--version"))
	assert.JSONEq(t, fmt.Sprintf(`{"version": "1.2.3", "go": %q, "os": %q, "arch": %q}`, runtime.Version(), runtime.GOOS, runtime.GOARCH),
		d.done(t, "version", "--json"))
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		assert.Contains(t, d.done(t, "completion", shell), "tocsin")
	}
	assert.Contains(t, d.done(t, "__complete", "key", "create", "--grant", ""), "distributionlist:write\n")
}

func TestMan(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	folder := t.TempDir()
	assert.Empty(t, d.done(t, "man", folder))
	page, err := os.ReadFile(filepath.Join(folder, "tocsin-key-create.1"))
	require.NoError(t, err)
	assert.Contains(t, string(page), "tocsin key create")
	again := t.TempDir()
	d.done(t, "man", again)
	same, err := os.ReadFile(filepath.Join(again, "tocsin-key-create.1"))
	require.NoError(t, err)
	assert.Equal(t, string(page), string(same), "the same program writes the same pages")
	assert.Equal(t, 1, d.run(t, "man", filepath.Join(folder, "missing")))
}

func TestConfigShow(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.Settings = func(f *pflag.FlagSet) ([]cli.Setting, error) {
		return []cli.Setting{{Name: "listen", Value: f.Lookup("listen").Value.String(), Origin: "flag --listen"}, {Name: "base_url", Origin: "default"}}, nil
	}
	assert.Equal(t, "SETTING   VALUE  ORIGIN\nlisten    :8080  flag --listen\nbase_url  -      default\n", d.done(t, "config", "show", "--listen", ":8080"))

	d.Settings = func(*pflag.FlagSet) ([]cli.Setting, error) {
		return nil, errors.New("configuration: 2 mistakes\n  listen: is wrong\n  base_url: is wrong")
	}
	assert.Equal(t, 1, d.run(t, "config", "show"))
	assert.Equal(t, "tocsin: configuration: 2 mistakes\n  listen: is wrong\n  base_url: is wrong\n", d.err.String())
}

func TestMigrate(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	at := time.Date(2026, 2, 3, 4, 5, 6, 789, time.FixedZone("", 3600))
	d.Migrate = func(context.Context, *pflag.FlagSet) ([]cli.Migration, error) {
		return []cli.Migration{{Name: "00001_init", Applied: at}}, nil
	}
	d.Migrations = func(context.Context, *pflag.FlagSet) ([]cli.Migration, error) {
		return []cli.Migration{{Name: "00001_init", Applied: at}, {Name: "00002_more"}}, nil
	}
	assert.Equal(t, "applied 00001_init\nthe schema is up to date\n", d.done(t, "migrate", "up"))
	assert.Equal(t, "MIGRATION   APPLIED\n00001_init  2026-02-03T03:05:06Z\n00002_more  pending\n", d.done(t, "migrate", "status"))

	broken := func(context.Context, *pflag.FlagSet) ([]cli.Migration, error) { return nil, errors.New("no database") }
	d.Migrate, d.Migrations = broken, broken
	for _, command := range []string{"up", "status"} {
		assert.Equal(t, 1, d.run(t, "migrate", command))
		assert.Equal(t, "tocsin: no database\n", d.err.String())
	}
}

func TestServe(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	var listen string
	d.Serve = func(ctx context.Context, f *pflag.FlagSet, _ cli.ServeOptions) error {
		listen = f.Lookup("listen").Value.String()
		return ctx.Err()
	}
	d.done(t, "serve", "--listen", ":8080")
	assert.Equal(t, ":8080", listen)

	d.Serve = func(context.Context, *pflag.FlagSet, cli.ServeOptions) error { return errors.New("the port is taken") }
	assert.Equal(t, 1, d.run(t, "serve"))
	assert.Equal(t, "tocsin: the port is taken\n", d.err.String())

	ctx, stop := context.WithCancel(t.Context())
	stop()
	d.Serve = func(context.Context, *pflag.FlagSet, cli.ServeOptions) error { return nil }
	assert.Zero(t, d.Run(ctx, []string{"serve"}), "a server that was asked to stop and did is done")
}

func TestInterruption(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.In, _ = io.Pipe() // Nothing is ever written to it.
	for _, args := range [][]string{{"apply", "-f", "-"}, {"import", "users", "-"}} {
		d.err.Reset()
		ctx, stop := context.WithCancel(t.Context())
		status := make(chan int)
		go func() { status <- d.Run(ctx, args) }()
		stop()
		assert.Equal(t, 1, <-status)
		assert.Equal(t, "tocsin: interrupted\n", d.err.String())
	}
}

func TestUnavailableDatabase(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"key", "list"}, {"key", "create", "--name", "x", "--grant", "user:read"}, {"delete", "list", "a/b/c"}} {
		d := newFixture(t)
		d.database = filepath.Join(file(t, "no-folder", ""), "tocsin.db")
		assert.Equal(t, 1, d.run(t, args...), args)
		assert.Contains(t, d.err.String(), "tocsin: ")
		assert.Empty(t, d.out.String())
	}
}

// TestErrorIndent checks an error of several lines, such as a driver returns that tried several
// servers.
func TestErrorIndent(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.Serve = func(context.Context, *pflag.FlagSet, cli.ServeOptions) error {
		return errors.New("failed to connect:\n\tdb1: refused\n\tdb2: refused")
	}
	assert.Equal(t, 1, d.run(t, "serve"))
	assert.Equal(t, "tocsin: failed to connect:\n  db1: refused\n  db2: refused\n", d.err.String())
}
