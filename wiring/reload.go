package wiring

import (
	"context"
	"log/slog"
	"os"
	"sync"

	"github.com/tocsin/tocsin/configs"
	"github.com/tocsin/tocsin/domain/quotas"
)

// reloader takes over what may change of the configuration while the program runs.
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

// config is the configuration in force.
func (r *reloader) config() configs.Config {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now
}

// start reloads at each SIGHUP until ctx ends, and at one that came before.
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

// reload reads the configuration again, and the files of the certificate.
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
	// What a new level would hide is said before.
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

// words are the changes as the log tells them.
func words(all []configs.Change) []string {
	texts := make([]string, len(all))
	for i, c := range all {
		texts[i] = c.String()
	}
	return texts
}
