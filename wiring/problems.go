package wiring

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/tocsin/tocsin/app"
)

// maxProblems is the maximum number of problems that are remembered.
const maxProblems = 50

// problems has the latest logged warnings and errors, for operators without access to the log.
type problems struct {
	mu   sync.Mutex
	last []app.Problem // the oldest first
}

// newest returns the problems, the newest first.
func (p *problems) newest() []app.Problem {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := slices.Clone(p.last)
	slices.Reverse(all)
	return all
}

func (p *problems) add(one app.Problem) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = append(p.last, one)
	p.last = p.last[max(0, len(p.last)-maxProblems):]
}

// watch returns a logger that remembers problems and passes all records to log.
func (p *problems) watch(log *slog.Logger) *slog.Logger {
	return slog.New(watcher{Handler: log.Handler(), problems: p})
}

// watcher is a log handler that remembers problems and passes all records on.
type watcher struct {
	slog.Handler

	problems *problems
	known    string // the attributes of every record, as text
	group    string
}

// Handle remembers a problem and passes the record on.
func (w watcher) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn {
		text := r.Message + w.known
		r.Attrs(func(a slog.Attr) bool {
			text += w.text(a)
			return true
		})
		w.problems.add(app.Problem{At: r.Time.UTC(), Level: strings.ToLower(r.Level.String()), Text: text})
	}
	return w.Handler.Handle(ctx, r)
}

// WithAttrs returns a handler whose records all have these attributes.
func (w watcher) WithAttrs(attrs []slog.Attr) slog.Handler {
	w.Handler = w.Handler.WithAttrs(attrs)
	for _, a := range attrs {
		w.known += w.text(a)
	}
	return w
}

// WithGroup returns a handler whose later attributes all belong to a group.
func (w watcher) WithGroup(name string) slog.Handler {
	w.Handler = w.Handler.WithGroup(name)
	w.group += name + "."
	return w
}

func (w watcher) text(a slog.Attr) string {
	return fmt.Sprintf(", %s%s: %s", w.group, a.Key, a.Value.Resolve())
}
