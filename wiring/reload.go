package wiring

import (
	"context"
	"log/slog"
	"os"
	"sync"

	"github.com/tocsin/tocsin/configs"
	"github.com/tocsin/tocsin/domain/quotas"
)

// reloader applies changes of the configuration while the program runs.
type reloader struct {
	load   func() (configs.Config, error)
	told   <-chan os.Signal
	level  *slog.LevelVar
	limits *quotas.Defaults
	where  *listening
	log    *slog.Logger

	mu  sync.Mutex
	now configs.Config
}

func newReloader(c configs.Config, self instance, limits *quotas.Defaults, where *listening, log *slog.Logger) *reloader {
	return &reloader{load: self.load, told: self.reloads, level: self.level, limits: limits, where: where, log: log, now: c}
}

// config returns the configuration in force.
func (r *reloader) config() configs.Config {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now
}

// start reloads at each SIGHUP until ctx ends, including one received before.
func (r *reloader) start(ctx context.Context) {
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-r.told:
				r.reload(ctx)
			}
		}
	}()
}

// reload reads the configuration and the certificate files again.
func (r *reloader) reload(ctx context.Context) {
	next, err := r.load()
	if err != nil {
		r.log.Error("the configuration has mistakes, and nothing of it was taken over", "error", err)
		return
	}
	r.mu.Lock()
	now, changed, restart := r.now.Reload(next)
	r.now = now
	r.mu.Unlock()
	r.limits.Replace(newLimits(now))
	// Log before raising the level, which might hide the line.
	say := func() {
		r.log.Info("the configuration was read again", "changed", words(changed), "needs_restart", words(restart))
	}
	if now.LogLevel > r.level.Level() {
		say()
		r.level.Set(now.LogLevel)
	} else {
		r.level.Set(now.LogLevel)
		say()
	}
	r.where.look(ctx)
}

// words returns the changes for the log.
func words(all []configs.Change) []string {
	texts := make([]string, len(all))
	for i, c := range all {
		texts[i] = c.String()
	}
	return texts
}
