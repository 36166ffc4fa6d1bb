package console

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
)

const (
	pageOccurrences = 50
	pageDeliveries  = 100
	pageEvents      = 1_000
)

// occurrencesView is the occurrences of an application.
type occurrencesView struct {
	Name        string // of the application
	Occurrences []events.Occurrence
	Events      map[events.ID]string // by name
	Older       events.OccurrenceID  // 0: no more
}

func (c call) showOccurrences() error {
	application, err := c.console.use.Applications.Show(c.ctx, c.at())
	if err != nil {
		return err
	}
	v := occurrencesView{Name: application.Name}
	if v.Occurrences, err = c.console.use.Occurrences.List(c.ctx, c.at(), events.OccurrenceID(c.number("before")), pageOccurrences+1); err != nil {
		return err
	}
	if len(v.Occurrences) > pageOccurrences {
		v.Occurrences = v.Occurrences[:pageOccurrences]
		v.Older = v.Occurrences[pageOccurrences-1].ID
	}
	if v.Events, err = c.eventNames(); err != nil {
		return err
	}
	return c.render(http.StatusOK, "occurrences", application.Name+": occurrences", v)
}

// eventNames are the names of the application's events.
func (c call) eventNames() (map[events.ID]string, error) {
	found, err := c.console.use.Applications.Events(c.ctx, c.at(), app.Page{Limit: pageEvents})
	byID := make(map[events.ID]string, len(found))
	for _, e := range found {
		byID[e.ID] = e.Name
	}
	return byID, err
}

// occurrenceView is one occurrence with a page of its deliveries.
type occurrenceView struct {
	app.OccurrenceReport
	Event      string
	States     []stateOfView
	In         deliveries.State // the filter; empty: none
	Failed     int
	Deliveries []deliveries.Delivery
	Next       string // the path of the next page; empty: no more
}

type stateOfView struct {
	State deliveries.State
	Count int
}

func (c call) showOccurrence() error {
	id, err := web.ID[events.OccurrenceID](c, "id")
	if err != nil {
		return err
	}
	v := occurrenceView{In: deliveries.State(c.QueryParam("state"))}
	if !slices.Contains(deliveries.States(), v.In) {
		v.In = ""
	}
	if v.OccurrenceReport, err = c.console.use.Occurrences.Show(c.ctx, c.at(), id); err != nil {
		return err
	}
	page := app.Page{After: c.number("after"), Limit: pageDeliveries + 1}
	if v.Deliveries, err = c.console.use.Occurrences.Deliveries(c.ctx, c.at(), id, v.In, page); err != nil {
		return err
	}
	if len(v.Deliveries) > pageDeliveries {
		v.Deliveries = v.Deliveries[:pageDeliveries]
		v.Next = c.occurrencePath(id) + "?" + url.Values{"state": {string(v.In)}, "after": {strconv.FormatInt(int64(v.Deliveries[pageDeliveries-1].ID), 10)}}.Encode()
	}
	names, err := c.eventNames()
	if err != nil {
		return err
	}
	v.Event, v.Failed = names[v.Occurrence.Event], v.Counts[deliveries.Failed]
	for _, s := range deliveries.States() {
		v.States = append(v.States, stateOfView{s, v.Counts[s]})
	}
	return c.render(http.StatusOK, "occurrence", fmt.Sprintf("Occurrence %d", id), v)
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
		words, _ := candidate.Verdict()
		v.Ways = append(v.Ways, wayView{candidate, sentence(words)})
	}
	return c.render(http.StatusOK, "explain", fmt.Sprintf("Occurrence %d for %s", id, v.User), v)
}

func (c call) retry() error {
	id, err := web.ID[events.OccurrenceID](c, "id")
	if err != nil {
		return err
	}
	if _, err := c.console.use.Retries.Failed(c.ctx, c.actor(), c.at(), id); err != nil {
		return err
	}
	return c.to(c.occurrencePath(id) + "?done=retried")
}

func (c call) occurrencePath(id events.OccurrenceID) string {
	at := c.at()
	return c.path(Prefix) + web.Join("o", at.Organization, "p", at.Project, "a", at.Application, "occurrences", strconv.FormatInt(int64(id), 10))
}
