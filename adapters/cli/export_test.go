package cli

import (
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/tocsin/tocsin/app"
)

// Root returns the tree of commands, for inspection.
func (p Program) Root() *cobra.Command {
	root := p.root()
	root.InitDefaultCompletionCmd()
	return root
}

// ReadyURL returns the URL that healthcheck requests for a server on an address.
func ReadyURL(e Endpoint) (string, error) { return readyURL(e) }

// TraceOf returns the output of a trace.
func TraceOf(t app.DeliveryTrace) any { return traceOf(t) }

// Progress is the progress of a long command.
type Progress = progress

// NewProgress returns progress on a terminal or elsewhere, with the test's clock.
func NewProgress(out io.Writer, total int, terminal bool, now func() time.Time) *Progress {
	return newProgress(out, total, terminal, now)
}

// At reports how many are done.
func (p *Progress) At(done int) { p.at(done) }

// End ends the progress.
func (p *Progress) End() { p.end() }
