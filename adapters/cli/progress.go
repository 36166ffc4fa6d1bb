package cli

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// progressInterval is how often progress is printed without a terminal.
const progressInterval = 5 * time.Second

// progress shows the progress of a long command: a bar on a terminal, else a line every few
// seconds.
type progress struct {
	out         io.Writer
	total       int
	now         func() time.Time
	started     time.Time
	lastPrinted time.Time
	bar         *progressbar.ProgressBar // nil where there is no terminal
}

func newProgress(out io.Writer, total int, terminal bool, now func() time.Time) *progress {
	p := &progress{out: out, total: total, now: now, started: now(), lastPrinted: now()}
	if terminal && total > 0 {
		p.bar = progressbar.NewOptions(total, progressbar.OptionSetWriter(out), progressbar.OptionSetItsString("rows"),
			progressbar.OptionShowIts(), progressbar.OptionShowCount(), progressbar.OptionSetPredictTime(true),
			progressbar.OptionSetWidth(30), progressbar.OptionThrottle(100*time.Millisecond))
		p.bar.StartWithoutRender() // Its clock starts now, not with the first rows done.
		_ = p.bar.RenderBlank()
	}
	return p
}

// at shows how many rows are done. It ignores output errors.
func (p *progress) at(done int) {
	if p.bar != nil {
		_ = p.bar.Set(done)
		return
	}
	now := p.now()
	if now.Sub(p.lastPrinted) < progressInterval || done == 0 {
		return
	}
	p.lastPrinted = now
	rate := float64(done) / now.Sub(p.started).Seconds()
	left := time.Duration(float64(p.total-done) / rate * float64(time.Second)).Round(time.Second)
	_, _ = fmt.Fprintf(p.out, "%d of %d rows (%d%%), %.0f rows/s, %s left\n", done, p.total, 100*done/p.total, rate, left)
}

// end ends the line of the bar.
func (p *progress) end() {
	if p.bar != nil {
		_ = p.bar.Exit()
		_, _ = fmt.Fprintln(p.out)
	}
}

func isTerminal(w io.Writer) bool {
	f, isFile := w.(*os.File)
	return isFile && term.IsTerminal(int(f.Fd()))
}
