package console

import (
	"net/http"

	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/app"
)

// systemView is the state of the installation.
type systemView struct {
	app.SystemReport

	Schema    string       // the last applied migration
	Pending   int          // migrations that are not applied
	Waiting   words.Phrase // deliveries that are due, in all channels
	Queued    []organizationQueue
	Expanding words.Phrase // occurrences whose recipients are not expanded yet
}

func (c call) showSystem() error {
	r, err := c.console.use.System.Show(c.ctx)
	if err != nil {
		return err
	}
	v := systemView{SystemReport: r, Expanding: atLeast(r.Queue.Unexpanded, app.QueueCounted(r.Queue.Unexpanded))}
	for _, m := range r.Migrations {
		if m.Applied.IsZero() {
			v.Pending++
		} else {
			v.Schema = m.Name
		}
	}
	waiting, more := 0, false
	for _, b := range r.Queue.Backlogs {
		waiting += b.Waiting
		more = more || app.QueueCounted(b.Waiting)
	}
	v.Waiting, v.Queued = atLeast(waiting, more), queueByOrganization(r.Queue.Backlogs)
	return c.render(http.StatusOK, "system", words.Of("System"), v)
}
