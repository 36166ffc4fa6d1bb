package console

import (
	"fmt"
	"net/http"

	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
)

const (
	pageOccurrences = 50
	pageDeliveries  = 100
	maxEventNames   = 1_000
)

// occurrencesView is the occurrences of an application.
type occurrencesView struct {
	Occurrences []occurrenceOfList
	Events      map[events.ID]string // by name
	Older       events.OccurrenceID  // 0: no more
}

// occurrenceOfList is an occurrence with how far it is.
type occurrenceOfList struct {
	events.Occurrence

	State  app.OccurrenceState
	Shares []share
}

func (c call) showOccurrences() error {
	var v occurrencesView
	found, err := c.console.use.Occurrences.Reports(c.ctx, c.at(), events.OccurrenceID(c.number("before")), pageOccurrences+1)
	if err != nil {
		return err
	}
	found, v.Older = paged(found, pageOccurrences, func(o app.OccurrenceReport) events.OccurrenceID { return o.Occurrence.ID })
	for _, r := range found {
		v.Occurrences = append(v.Occurrences, occurrenceOfList{r.Occurrence, r.State, sharesOf(r.Counts)})
	}
	if v.Events, err = c.eventNames(); err != nil {
		return err
	}
	return c.render(http.StatusOK, "occurrences", "Messages", v)
}

// eventNames are the names of the application's events.
func (c call) eventNames() (map[events.ID]string, error) {
	found, err := c.console.use.Applications.Events(c.ctx, c.at(), app.Page{Limit: maxEventNames})
	byID := make(map[events.ID]string, len(found))
	for _, e := range found {
		byID[e.ID] = e.Name
	}
	return byID, err
}

// explanationView is why somebody did or did not get an occurrence.
type explanationView struct {
	ID   events.OccurrenceID
	User string
	app.Explanation
	Ways []wayView
}

// wayView is one way in which a notification could reach somebody, with the verdict in words.
type wayView struct {
	deliveries.Candidate
	Words string
	Made  *deliveries.Delivery // of this way; nil: none was
}

func (c call) explain() error {
	id, err := web.ID[events.OccurrenceID](c, "id")
	if err != nil {
		return err
	}
	v := explanationView{ID: id, User: c.QueryParam("user")}
	if v.Explanation, err = c.console.use.Occurrences.Explain(c.ctx, c.at(), id, v.User); err != nil {
		return err
	}
	for _, candidate := range v.Candidates {
		words, _ := candidate.Fate(v.Deliveries)
		way := wayView{Candidate: candidate, Words: sentence(words)}
		for i, d := range v.Deliveries {
			if d.Notification == candidate.Notification.ID && d.Assignment == candidate.Assignment.ID {
				way.Made = &v.Deliveries[i]
			}
		}
		v.Ways = append(v.Ways, way)
	}
	return c.render(http.StatusOK, "explain", fmt.Sprintf("Occurrence %d for %s", id, v.User), v)
}
