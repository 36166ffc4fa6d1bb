package wiring

import (
	"log/slog"

	"github.com/tocsin/tocsin/app"
)

// MaxProblems is how many problems are remembered.
const MaxProblems = maxProblems

// Watched returns a log that remembers problems, and what tells them.
func Watched(log *slog.Logger) (watched *slog.Logger, newest func() []app.Problem) {
	p := &problems{}
	return p.watch(log), p.newest
}
