package console

import (
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/users"
)

const (
	pageOccurrences = 50
	pageDeliveries  = 100
	maxEventChoices = 1_000
)

// occurrencesView is a page of the application's occurrences.
type occurrencesView struct {
	Filter      form
	Filtered    bool
	FilterError string
	Occurrences []listedOccurrence
	Choices     []events.Name // the first events
	MoreChoices bool
	Events      map[events.ID]string // by name
	Member      *users.Member        // the member of the filter; nil: all
	Members     []users.Member       // members with the requested name
	Newer       string               // the path of the page before; empty: this is the first
	Older       string               // of the next one; empty: this is the last
}

// MemberPath returns the query for the page that is filtered by a member.
func (v occurrencesView) MemberPath(m users.Member) string {
	filter := maps.Clone(v.Filter.values)
	filter.Set("person", m.User.Username)
	return "?" + filter.Encode()
}

// listedOccurrence is an occurrence with its progress.
type listedOccurrence struct {
	events.Occurrence

	State  app.OccurrenceState
	Shares []share
}

// occurrenceStates are the states of the filter, by their names on the page.
var occurrenceStates = map[string]deliveries.State{"waiting": deliveries.Pending, "sent": deliveries.Sent, "failed": deliveries.Failed, "skipped": deliveries.Skipped}

func (c call) showOccurrences() error {
	filter := c.query()
	filter.Del("done")
	v := occurrencesView{Filter: form{values: filter}}
	q := deliveries.Selection{Event: events.ID(parseID(filter.Get("event"))),
		Before: events.OccurrenceID(parseID(filter.Get("before"))), After: events.OccurrenceID(parseID(filter.Get("after"))), Limit: pageOccurrences}
	person, errPerson := users.ParseText("person", filter.Get("person"))
	var errEvent, errState, errFrom, errUntil error
	if filter.Get("event") != "" && q.Event == 0 {
		errEvent = fault.Field("event", "must be the id of an event")
	}
	if state := filter.Get("state"); state != "" {
		if q.State = occurrenceStates[state]; q.State == "" {
			errState = fault.Field("state", "must be one of: %s", fault.List(slices.Sorted(maps.Keys(occurrenceStates))))
		}
	}
	q.From, errFrom = parseDay("from", filter.Get("from"))
	q.Until, errUntil = parseDay("to", filter.Get("to"))
	if !q.Until.IsZero() {
		q.Until = q.Until.AddDate(0, 0, 1)
	}
	if wrong, ok := errors.AsType[*fault.Error](errors.Join(errEvent, errState, errPerson, errFrom, errUntil)); ok {
		v.FilterError = sentence(wrong.Error())
		return c.render(http.StatusBadRequest, "occurrences", words.Of("Messages"), v)
	}
	v.Filtered = person != "" || q.Event != 0 || q.State != "" || !q.From.IsZero() || !q.Until.IsZero()
	found, err := c.console.use.Occurrences.Select(c.ctx, c.at(), q, person, maxEventChoices+1)
	if err != nil {
		return err
	}
	v.Choices, v.MoreChoices = found.Choices[:min(len(found.Choices), maxEventChoices)], len(found.Choices) > maxEventChoices
	v.Events, v.Member, v.Members = namesOf(found.Events), found.Person, found.People
	isSelected := func(e events.Name) bool { return e.ID == q.Event }
	if at := slices.IndexFunc(found.Events, isSelected); at >= 0 && !slices.ContainsFunc(v.Choices, isSelected) {
		v.Choices = append(v.Choices, found.Events[at])
	}
	for _, r := range found.Reports {
		v.Occurrences = append(v.Occurrences, listedOccurrence{r.Occurrence, r.State, sharesOf(r.Counts)})
	}
	v.Newer, v.Older = c.adjacentPages(filter, q, found)
	return c.render(http.StatusOK, "occurrences", words.Of("Messages"), v)
}

// adjacentPages returns the queries for the pages of newer and older occurrences.
func (c call) adjacentPages(filter url.Values, q deliveries.Selection, found app.OccurrencePage) (newer, older string) {
	to := func(name string, id events.OccurrenceID) string {
		there := maps.Clone(filter)
		there.Del("before")
		there.Del("after")
		there.Set(name, strconv.FormatInt(int64(id), 10))
		return "?" + there.Encode()
	}
	// The pages next to an empty page start at its end.
	newest, oldest := q.Before-1, found.Last
	if q.After != 0 {
		newest, oldest = found.Last, q.After+1
	}
	if n := len(found.Reports); n > 0 {
		newest = found.Reports[0].Occurrence.ID
		if q.After != 0 || n == pageOccurrences {
			oldest = found.Reports[n-1].Occurrence.ID
		}
	}
	if q.Before != 0 || q.After != 0 && found.More {
		newer = to("after", newest)
	}
	if q.After != 0 || found.More {
		older = to("before", oldest)
	}
	return newer, older
}

// lastYear is the last year that SQLite orders correctly: it compares dates as text.
const lastYear = 9998

// parseDay parses the day of a filter; the zero time if it is empty.
func parseDay(name, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.DateOnly, text)
	if err != nil || t.Year() > lastYear {
		return t, fault.Field(name, "must be a day such as 2026-03-31")
	}
	return t, nil
}

func namesOf(all []events.Name) map[events.ID]string {
	byID := make(map[events.ID]string, len(all))
	for _, e := range all {
		byID[e.ID] = e.Name
	}
	return byID
}

// explanationView explains why a user received an occurrence or not, and asks for another user.
type explanationView struct {
	ID   events.OccurrenceID
	User string
	Form form // with a fault, nothing is explained
	app.Explanation
	Explained []explainedCandidate
}

// explainedCandidate is one candidate for a delivery, with the verdict as text.
type explainedCandidate struct {
	deliveries.Candidate
	Verdict  string
	Delivery *deliveries.Delivery // of this candidate; nil: none was created
}

// Class returns the CSS class of the summary, which is about the delivery that came furthest.
func (v explanationView) Class() string {
	d, _ := deliveries.Furthest(v.Deliveries)
	switch {
	case d.State == deliveries.Sent:
		return "notice"
	case d.State == deliveries.Failed, d.Waiting.For == deliveries.ForChannel:
		return "warning"
	}
	return "remark"
}

func (c call) explain() error {
	id := web.ID[events.OccurrenceID](c, "id")
	v := explanationView{ID: id, User: c.QueryParam("user")}
	v.Form = newForm("user", v.User)
	var err error
	switch v.Explanation, err = c.console.use.Occurrences.Explain(c.ctx, c.at(), id, v.User); {
	case errors.Is(err, users.ErrNotFound):
		v.Form.faults.Addf("user", "no user of this organization has this username or e-mail address")
	case errors.Is(err, users.ErrAmbiguous):
		v.Form.faults.Addf("user", "%s", err.Error())
	case err != nil:
		return err
	}
	if v.Form.HasFaults() {
		return c.render(statusOf(v.Form), "explain", words.Of("Occurrence %s", formatID(id)), v)
	}
	for _, candidate := range v.Candidates {
		words, _ := candidate.Outcome(v.Deliveries)
		way := explainedCandidate{Candidate: candidate, Verdict: sentence(words)}
		for i, d := range v.Deliveries {
			if d.Notification == candidate.Notification.ID && d.Assignment == candidate.Assignment.ID {
				way.Delivery = &v.Deliveries[i]
			}
		}
		v.Explained = append(v.Explained, way)
	}
	return c.render(http.StatusOK, "explain", words.Of("Occurrence %s for %s", formatID(id), v.User), v)
}
