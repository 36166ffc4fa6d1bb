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
	load     func() (configs.Config, error)
	signals  <-chan os.Signal
	level    *slog.LevelVar
	limits   *quotas.Defaults
	endpoint *endpoint
	log      *slog.Logger

	mu  sync.Mutex
	now configs.Config
}

func newReloader(c configs.Config, self instance, limits *quotas.Defaults, endpoint *endpoint, log *slog.Logger) *reloader {
	return &reloader{load: self.load, signals: self.reloads, level: self.level, limits: limits, endpoint: endpoint, log: log, now: c}
}

// config returns the current configuration.
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
			case <-r.signals:
				r.reload(ctx)
			}
		}
	}()
}

// reload reads the configuration and the certificate files again.
func (r *reloader) reload(ctx context.Context) {
	next, err := r.load()
	if err != nil {
		r.log.Error("the configuration has errors, so nothing of it was applied", "error", err)
		return
	}
	r.mu.Lock()
	now, changed, restart := r.now.Reload(next)
	r.now = now
	r.mu.Unlock()
	r.limits.Replace(newLimits(now))
	// Log before the level is raised, which may hide the line.
	logReload := func() {
		r.log.Info("the configuration was reloaded", "changed", changeTexts(changed), "needs_restart", changeTexts(restart))
	}
	if now.LogLevel > r.level.Level() {
		logReload()
		r.level.Set(now.LogLevel)
	} else {
		r.level.Set(now.LogLevel)
		logReload()
	}
	r.endpoint.refresh(ctx)
}

// changeTexts returns the changes as texts for the log.
func changeTexts(all []configs.Change) []string {
	texts := make([]string, len(all))
	for i, c := range all {
		texts[i] = c.String()
	}
	return texts
}
