// Package wiring is the composition root: the only package that knows every adapter and connects it
// to the use cases. It has no rules of its own.
package wiring

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/tocsin/tocsin/adapters/cli"
	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/adapters/gormstore/seal"
	"github.com/tocsin/tocsin/configs"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/installation"
	"github.com/tocsin/tocsin/ports"
)

//go:generate go tool wire . ../test/harness

// Streams are the program's standard streams.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// NewProgram returns the command line program over these streams and this environment
// (`NAME=value`).
func NewProgram(version string, s Streams, environ []string) cli.Program {
	r := root{version: version, streams: s, environ: environ, level: &slog.LevelVar{}}
	return cli.Program{
		Version:     version,
		In:          s.In,
		Out:         s.Out,
		Err:         s.Err,
		Environ:     environ,
		Flags:       configs.Flags,
		ServerFlags: configs.ServerFlags,
		Settings:    r.settings,
		Check:       r.check,
		Listen:      r.listen,
		Serve:       r.serve,
		Work:        r.work,
		Open:        r.open,
		Migrate:     r.migrate,
		Migrations:  r.migrations,
		Backup:      r.backup,
		Restore:     r.restore,
		Copy:        r.copy,

		MigrationPlan: r.migrationPlan,
		Verify:        r.verify,
	}
}

// root assembles the parts of a command after its flags were parsed.
type root struct {
	version string
	streams Streams
	environ []string
	level   *slog.LevelVar // of the log
}

func (r root) settings(flags *pflag.FlagSet) ([]cli.Setting, error) {
	c, err := configs.Load(flags, r.environ)
	if err != nil {
		return nil, err
	}
	var all []cli.Setting
	for _, v := range c.Values() {
		all = append(all, cli.Setting{Name: v.Name, Value: v.Value, Origin: v.Origin})
	}
	return all, nil
}

func (r root) check(flags *pflag.FlagSet) error {
	c, err := configs.Load(flags, r.environ)
	if err != nil {
		return err
	}
	_, err = newIdentity(c.Encryption)
	return err
}

func (r root) listen(flags *pflag.FlagSet) (cli.Endpoint, error) {
	c, err := configs.Load(flags, r.environ)
	network, address := c.ListenOn()
	return cli.Endpoint{Network: network, Address: address, Encrypted: c.Encryption.On()}, err
}

func (r root) serve(ctx context.Context, flags *pflag.FlagSet, serving cli.ServeOptions) error {
	self := newInstance(r, flags)
	longRunning.apply()
	c, log, key, err := r.prepare(ctx, flags, create)
	if err != nil {
		return logFatal(ctx, log, err)
	}
	log = self.problems.watch(log)
	return logFatal(ctx, log, runWithLimit(ctx, shutdownLimit(c), log, self.unrecorded, func() error {
		s, closeAll, err := openServer(ctx, c, key, log, create, self)
		if err != nil {
			return err
		}
		defer closeAll()
		if err := s.store.CheckKeys(ctx); err != nil {
			return err
		}
		if serving.Hold {
			if _, err := s.installation.Hold(ctx, serving.By); err != nil {
				return err
			}
		}
		if err := warnOfState(ctx, s.store, log); err != nil {
			return err
		}
		warnWithoutHTTPS(c, log)
		if serving.Send {
			warnWithoutLinks(c, log)
		} else {
			s.work = nil
		}
		freeStartMemory()
		return s.serve(ctx)
	}))
}

func (r root) work(ctx context.Context, flags *pflag.FlagSet) error {
	self := newInstance(r, flags)
	longRunning.apply()
	// Installations begin with a server. A worker on an empty database would only look alive.
	c, log, key, err := r.prepare(ctx, flags, refuse)
	if err != nil {
		return logFatal(ctx, log, err)
	}
	return logFatal(ctx, log, runWithLimit(ctx, shutdownLimit(c), log, self.unrecorded, func() error {
		work, closeAll, err := openWorker(ctx, c, key, log, refuse, self)
		if err != nil {
			return err
		}
		defer closeAll()
		if err := work.Store.CheckKeys(ctx); err != nil {
			return err
		}
		if err := warnOfState(ctx, work.Store, log); err != nil {
			return err
		}
		stop, err := work.Monitor.start(ctx)
		if err != nil {
			return err
		}
		defer stop()
		warnWithoutLinks(c, log)
		work.Reloader.start(ctx)
		log.Info("working", "database", c.Database.String())
		work.run(ctx)
		log.Info("stopped working")
		return nil
	}))
}

// prepare loads the configuration, a logger and the secret key. It creates a missing key unless
// stored data need the lost one, or the database is absent and must not be. Without a valid
// configuration there is no logger.
func (r root) prepare(ctx context.Context, flags *pflag.FlagSet, absent ifAbsent) (configs.Config, *slog.Logger, configs.SecretKey, error) {
	c, err := configs.Load(flags, r.environ)
	if err != nil {
		return configs.Config{}, nil, configs.SecretKey{}, err
	}
	log := newLogger(c, r.streams.Err, r.level)
	if r.streams.Err == os.Stderr { // Libraries log there with the logger of the process.
		slog.SetDefault(log)
	}
	if err := checkMissingKey(ctx, c, log, absent); err != nil {
		return configs.Config{}, log, configs.SecretKey{}, err
	}
	key, made, err := c.EnsureSecretKey()
	if made != "" {
		log.Info("a secret key was created; back it up together with the database", "file", made)
	}
	return c, log, key, err
}

// errNoKeyFile means that the key of a database is lost. A new key could not decrypt its data.
var errNoKeyFile = fault.New(fault.Invalid, "the secret key of this database is missing")

// checkMissingKey returns nil if the key exists or may be created. It may be created if the
// database is absent and may be created, if nothing in it is encrypted, or if a key of
// secret_key_previous can decrypt it.
func checkMissingKey(ctx context.Context, c configs.Config, log *slog.Logger, absent ifAbsent) error {
	file := c.MissingKeyFile()
	if file == "" {
		return nil
	}
	config := storeConfig(c, systemClock{}, log)
	config.MustExist = true
	if earlier := c; len(c.PreviousKeys) > 0 {
		earlier.PreviousKeys = c.PreviousKeys[1:]
		config.Keys = newKeys(earlier, c.PreviousKeys[0])
	}
	store, err := gormstore.Connect(ctx, config)
	if errors.Is(err, gormstore.ErrNoFile) && absent == create {
		return nil
	}
	if err != nil {
		return explainAbsent(c, err)
	}
	defer func() { _ = store.Close() }() // It was only read.
	if absent == refuse {
		if err := store.CheckSchemaExists(ctx); err != nil {
			return explainAbsent(c, err)
		}
	}
	if err := store.CheckKeys(ctx); !errors.Is(err, gormstore.ErrOtherKey) {
		return err
	}
	if c.MissingKeyFile() == "" { // Another process has just created it.
		return nil
	}
	return errNoKeyFile.With("the secret key of this database is missing: it stores secrets encrypted, but secret_key is not set and there is no file %s; "+
		"put back the key (docs/runbooks/secret-key.md)", file)
}

// warnOfState logs a warning if the installation is held or read-only: nothing is sent then.
func warnOfState(ctx context.Context, store ports.Store, log *slog.Logger) error {
	state, err := ports.View(ctx, store, func(tx ports.Tx) (installation.State, error) { return tx.Installation().State(ctx) })
	if err != nil {
		return err
	}
	if !state.Held.IsZero() {
		log.Warn("nothing is sent: the installation is held; `tocsin release` ends that", "since", state.Held)
	}
	if !state.ReadOnly.IsZero() {
		log.Warn("nothing is sent or changed: the installation is read-only for maintenance; `tocsin maintenance off` ends that", "since", state.ReadOnly)
	}
	return nil
}

// warnWithoutLinks logs that messages have no unsubscribe links.
func warnWithoutLinks(c configs.Config, log *slog.Logger) {
	if c.BaseURL == "" {
		log.Info("messages carry no unsubscribe links, because base_url is not set")
	}
}

// warnWithoutHTTPS logs a warning if no setting says whether browsers use https.
func warnWithoutHTTPS(c configs.Config, log *slog.Logger) {
	if c.BaseURL == "" && len(c.TrustedProxies) == 0 {
		log.Warn("cookies are sent over http, too, because nothing says that browsers use https: set base_url or trusted_proxies")
	}
}

// commandTimeout is the timeout of a statement of a command.
const commandTimeout = 20 * time.Minute

func (r root) open(ctx context.Context, flags *pflag.FlagSet, mayCreate bool) (cli.Services, func(), error) {
	command.apply()
	absent := refuse
	if mayCreate {
		absent = create
	}
	c, log, key, err := r.prepare(ctx, flags, absent)
	if err != nil {
		return cli.Services{}, nil, err
	}
	c.StatementTimeout = commandTimeout
	return openServices(ctx, c, key, log, absent)
}

// migrate brings the schema up to date, even without auto_migrate.
func (r root) migrate(ctx context.Context, flags *pflag.FlagSet) ([]cli.Migration, error) {
	store, err := r.connect(ctx, flags)
	if err != nil {
		return nil, err
	}
	defer func() { _ = store.Close() }() // All work has ended.
	before, err := store.Status(ctx)
	if err != nil {
		return nil, err
	}
	if err := store.Migrate(ctx); err != nil {
		return nil, err
	}
	after, err := store.Status(ctx)
	if err != nil {
		return nil, err
	}
	missing := map[int64]bool{}
	for _, m := range before {
		missing[m.Version] = m.Applied.IsZero()
	}
	after = slices.DeleteFunc(after, func(m gormstore.Migration) bool { return !missing[m.Version] })
	return shown(after), nil
}

func (r root) migrations(ctx context.Context, flags *pflag.FlagSet) ([]cli.Migration, error) {
	store, err := r.connectExisting(ctx, flags)
	if err != nil {
		return nil, err
	}
	defer func() { _ = store.Close() }() // All work has ended.
	all, err := store.Status(ctx)
	return shown(all), err
}

// migrationPlan returns what migrate would do.
func (r root) migrationPlan(ctx context.Context, flags *pflag.FlagSet) ([]cli.PlannedStep, error) {
	store, err := r.connectExisting(ctx, flags)
	if err != nil {
		return nil, err
	}
	defer func() { _ = store.Close() }() // All work has ended.
	plan, err := store.Plan(ctx)
	steps := make([]cli.PlannedStep, len(plan))
	for i, p := range plan {
		steps[i] = cli.PlannedStep{Migration: p.Migration, Statement: p.Statement, Table: p.Table, Lock: p.Lock, Work: string(p.Work), Rows: p.Rows, Blocks: p.Blocks()}
	}
	return steps, err
}

// connect opens the database without a check of its schema, and creates a missing SQLite file.
func (r root) connect(ctx context.Context, flags *pflag.FlagSet) (*gormstore.Store, error) {
	return r.connectTo(ctx, flags, create, seal.Ring{})
}

// connectExisting is connect for read-only commands: a missing file is an error.
func (r root) connectExisting(ctx context.Context, flags *pflag.FlagSet) (*gormstore.Store, error) {
	return r.connectTo(ctx, flags, refuse, seal.Ring{})
}

func (r root) connectTo(ctx context.Context, flags *pflag.FlagSet, absent ifAbsent, keys seal.Ring) (*gormstore.Store, error) {
	c, err := configs.Load(flags, r.environ)
	if err != nil {
		return nil, err
	}
	return connectWith(ctx, c, keys, newLogger(c, r.streams.Err, r.level), absent)
}

func connectWith(ctx context.Context, c configs.Config, keys seal.Ring, log *slog.Logger, absent ifAbsent) (*gormstore.Store, error) {
	config := storeConfig(c, systemClock{}, log)
	config.Keys, config.MustExist = keys, absent == refuse
	store, err := gormstore.Connect(ctx, config)
	return store, explainAbsent(c, err)
}

func shown(all []gormstore.Migration) []cli.Migration {
	steps := make([]cli.Migration, len(all))
	for i, m := range all {
		steps[i] = cli.Migration{Name: m.Name, Applied: m.Applied}
		if m.Name == "" {
			steps[i].Name = fmt.Sprintf("%05d (of a newer program)", m.Version)
		}
	}
	return steps
}
