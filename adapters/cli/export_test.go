package cli

import (
	"io"
	"time"

	"github.com/spf13/cobra"
)

// Root is the tree of commands, to look at.
func (p Program) Root() *cobra.Command {
	root := p.root()
	root.InitDefaultCompletionCmd()
	return root
}

// ReadyURL is where healthcheck asks a server that listens on an address.
func ReadyURL(listen string, encrypted bool) (ready, socket string, err error) {
	return readyURL(listen, encrypted)
}

// Progress is the progress of a long command.
type Progress = progress

// NewProgress returns progress on a terminal or elsewhere, by a clock of the test's.
func NewProgress(out io.Writer, total int, terminal bool, now func() time.Time) *Progress {
	return newProgress(out, total, terminal, now)
}

// At tells that so many are done.
func (p *Progress) At(done int) { p.at(done) }

// End leaves the progress behind.
func (p *Progress) End() { p.end() }
