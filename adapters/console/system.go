package console

import (
	"net/http"
	"strconv"

	"github.com/tocsin/tocsin/app"
)

// systemView is how the installation is doing.
type systemView struct {
	app.SystemReport

	Schema   string // the newest migration that was applied
	Behind   int    // migrations that were not
	Waiting  string // deliveries that are due, in all channels
	Searched string // occurrences whose recipients are being found
}

func (c call) showSystem() error {
	r, err := c.console.use.System.Show(c.ctx)
	if err != nil {
		return err
	}
	v := systemView{SystemReport: r, Searched: atLeast(r.Queue.Unexpanded, r.Counted(r.Queue.Unexpanded))}
	for _, m := range r.Migrations {
		if m.Applied.IsZero() {
			v.Behind++
		} else {
			v.Schema = m.Name
		}
	}
	waiting, more := 0, false
	for _, b := range r.Queue.Backlogs {
		waiting += b.Waiting
		more = more || r.Counted(b.Waiting)
	}
	v.Waiting = atLeast(waiting, more)
	return c.render(http.StatusOK, "system", "System", v)
}

// atLeast writes a number, and that there may be more.
func atLeast(n int, more bool) string {
	if more {
		return count(n) + " or more"
	}
	return count(n)
}

// bytesOf writes a size.
func bytesOf(n int64) string {
	const unit = 1024
	size, names := float64(n), []string{"bytes", "KiB", "MiB", "GiB", "TiB"}
	i := 0
	for ; size >= unit && i < len(names)-1; i++ {
		size /= unit
	}
	if i == 0 {
		return strconv.FormatInt(n, 10) + " bytes"
	}
	return strconv.FormatFloat(size, 'f', 1, 64) + " " + names[i]
}
