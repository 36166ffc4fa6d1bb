package wiring

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/app/health"
	"github.com/tocsin/tocsin/configs"
	"github.com/tocsin/tocsin/ports"
)

// instance is the running process.
type instance struct {
	version  string
	environ  []string
	level    *slog.LevelVar                 // of its log
	load     func() (configs.Config, error) // reads the configuration again
	reloads  chan os.Signal                 // requests a reload
	started  time.Time
	problems *problems

	unrecorded *unrecorded // of its worker
}

// newInstance handles SIGHUP, which by default ends the process.
func newInstance(r root, flags *pflag.FlagSet) instance {
	reloads := make(chan os.Signal, 1)
	signal.Notify(reloads, syscall.SIGHUP)
	load := func() (configs.Config, error) { return configs.Load(flags, r.environ) }
	return instance{version: r.version, environ: r.environ, level: r.level, load: load, reloads: reloads, started: time.Now(), problems: &problems{}, unrecorded: &unrecorded{}}
}

func newSystem(settings *reloader, self instance, store *gormstore.Store, state *health.Health, clock ports.Clock) *app.System {
	return app.NewSystem(store, clock, func(ctx context.Context) app.InstanceInfo { return self.facts(ctx, settings.config(), store, state) })
}

// facts returns the data about this instance and its database. What cannot be read is reported as a
// failed check.
func (i instance) facts(ctx context.Context, c configs.Config, store *gormstore.Store, state *health.Health) app.InstanceInfo {
	f := app.InstanceInfo{Version: i.version, Runtime: fmt.Sprintf("%s, %s/%s", runtime.Version(), runtime.GOOS, runtime.GOARCH), Instance: instanceName(),
		Started: i.started, Problems: i.problems.newest()}
	d, err := store.Describe(ctx)
	f.Checks = append(state.Report(ctx), health.Check{Name: "the database can be described", Err: err})
	f.Database = app.Database{Kind: d.Kind, Version: d.Version, Size: d.Size}
	all, err := store.Status(ctx)
	f.Checks = append(f.Checks, health.Check{Name: "the schema can be read", Err: err})
	for _, m := range shown(all) {
		f.Migrations = append(f.Migrations, app.Migration{Name: m.Name, Applied: m.Applied})
	}
	for _, v := range c.Values() {
		f.Settings = append(f.Settings, app.Setting{Name: v.Name, Value: v.Value, Origin: v.Origin})
	}
	return f
}
