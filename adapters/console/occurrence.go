package console

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
)

// occurrenceView is one occurrence with a page of its deliveries.
type occurrenceView struct {
	progressView

	Event        string
	StateFilter  deliveries.State  // at most one of these filters is set
	ReasonFilter deliveries.Reason // the reason of skipped deliveries
	Address      string            // the beginning of the address
	Reasons      []deliveries.Reason
	Failed       int
	Causes       []deliveries.FailureGroup // of the first app.FailuresRead failures
	MayRetry     bool                      // the operator may retry what failed
	Deliveries   []deliveries.Delivery
	Next         string // the path of the next page; empty: no more
	Explain      form   // empty
}

// FailuresRead returns how many failures are examined for their causes.
func (occurrenceView) FailuresRead() int { return app.FailuresRead }

// progressView is the progress of an occurrence.
type progressView struct {
	app.OccurrenceReport

	Path     string // of its page
	States   []stateCount
	Total    int // deliveries created so far
	Finished int // deliveries that are final
	Shares   []share
}

type stateCount struct {
	State deliveries.State
	Count int
}

// Percent returns the share of all deliveries that have ended; 0 if there are none.
func (p progressView) Percent() int {
	if p.Total == 0 {
		return 0
	}
	return p.Finished * 100 / p.Total
}

// StateClass returns the CSS class of the state. Green means sent: with failures, or if nothing was
// sent, it is not green.
func (p progressView) StateClass() string {
	switch {
	case p.State != app.Done:
		return string(p.State)
	case p.Counts[deliveries.Failed] > 0:
		return string(deliveries.Failed)
	case p.Counts[deliveries.Sent] > 0:
		return string(app.Done)
	}
	return ""
}

// StateText returns the state to show: of a finished occurrence, what became of it.
func (p progressView) StateText() any {
	failed, sent := p.Counts[deliveries.Failed] > 0, p.Counts[deliveries.Sent] > 0
	switch {
	case p.State != app.Done, sent && !failed:
		return p.State
	case sent:
		return words.Of("partly failed")
	case failed:
		return deliveries.Failed
	}
	return words.Of("nothing sent")
}

// Rate returns how many deliveries end in a second, a minute or an hour; nothing if that is
// unknown.
func (p progressView) Rate() words.Phrase {
	switch {
	case p.PerSecond <= 0:
		return nil
	case p.PerSecond >= 1:
		return words.Of("%d per second", int(p.PerSecond))
	case p.PerSecond*60 >= 1:
		return words.Of("%d per minute", int(p.PerSecond*60))
	default:
		return words.Of("%d per hour", int(max(1, p.PerSecond*3600)))
	}
}

// Live reports whether the progress can still change.
func (p progressView) Live() bool {
	return p.State != app.Done && (p.State != app.Cancelled || p.Finished < p.Total)
}

// InProgress reports whether deliveries are being created or sent.
func (p progressView) InProgress() bool { return p.Live() && p.State != app.Scheduled }

// OpenHolds returns why deliveries wait. It leaves out what the occurrence itself waits for, which
// its state says.
func (p progressView) OpenHolds() []app.ChannelWait {
	return slices.DeleteFunc(slices.Clone(p.Waits), func(w app.ChannelWait) bool { return w.Channel == "" })
}

// MayCancel reports whether the occurrence can be cancelled.
func (p progressView) MayCancel() bool { return p.State != app.Done && p.State != app.Cancelled }

func (c call) showOccurrence() error {
	id := web.ID[events.OccurrenceID](c, "id")
	v := occurrenceView{Reasons: deliveries.Reasons(), Address: c.QueryParam("address"), ReasonFilter: deliveries.Reason(c.QueryParam("reason")),
		StateFilter: deliveries.State(c.QueryParam("state"))}
	if !slices.Contains(v.Reasons, v.ReasonFilter) || v.Address != "" {
		v.ReasonFilter = ""
	}
	if !slices.Contains(deliveries.States(), v.StateFilter) || v.Address != "" || v.ReasonFilter != "" {
		v.StateFilter = ""
	}
	var err error
	if v.progressView, err = c.progress(id); err != nil {
		return err
	}
	if err := c.findDeliveries(id, &v); err != nil {
		return err
	}
	names, err := c.console.use.Applications.EventNames(c.ctx, c.at(), []events.ID{v.Occurrence.Event})
	if err != nil {
		return err
	}
	v.Event, v.Failed = namesOf(names)[v.Occurrence.Event], v.Counts[deliveries.Failed]
	v.MayRetry = c.mayRetry(v.Occurrence)
	if v.Failed > 0 {
		if v.Causes, err = c.console.use.Occurrences.Failures(c.ctx, c.at(), id); err != nil {
			return err
		}
	}
	return c.render(http.StatusOK, "occurrence", words.Of("Occurrence %s", formatID(id)), v)
}

// showProgress responds with the fragment about the progress. When the occurrence has ended, it
// makes the browser reload the page.
func (c call) showProgress() error {
	id := web.ID[events.OccurrenceID](c, "id")
	v, err := c.progress(id)
	if err != nil {
		return err
	}
	if !v.Live() {
		c.reload(v.Path)
	}
	return c.fragment("occurrence-progress", v)
}

func (c call) progress(id events.OccurrenceID) (v progressView, err error) {
	v.Path = c.below("occurrences", id)
	v.OccurrenceReport, err = c.console.use.Occurrences.Show(c.ctx, c.at(), id)
	for _, s := range deliveries.States() {
		n := v.Counts[s]
		v.States = append(v.States, stateCount{s, n})
		v.Total += n
		if !s.Open() {
			v.Finished += n
		}
	}
	v.Shares = sharesOf(v.Counts)
	return v, err
}

// findDeliveries adds the page of deliveries that match the filter.
func (c call) findDeliveries(id events.OccurrenceID, v *occurrenceView) (err error) {
	use, page := c.console.use.Occurrences, app.Page{After: c.number("after"), Limit: pageDeliveries + 1}
	filter := url.Values{}
	switch {
	case v.Address != "":
		filter.Set("address", v.Address)
		after := deliveries.Cursor{Key: c.QueryParam("after_key"), ID: deliveries.ID(page.After)}
		var next deliveries.Cursor
		v.Deliveries, next, err = use.ByAddress(c.ctx, c.at(), id, v.Address, after, pageDeliveries)
		if len(v.Deliveries) == pageDeliveries {
			filter.Set("after_key", next.Key)
			v.Next = c.nextPagePath(id, filter, next.ID)
		}
		return err
	case v.ReasonFilter != "":
		filter.Set("reason", string(v.ReasonFilter))
		v.Deliveries, err = use.Skipped(c.ctx, c.at(), id, v.ReasonFilter, page)
	default:
		filter.Set("state", string(v.StateFilter))
		v.Deliveries, err = use.Deliveries(c.ctx, c.at(), id, v.StateFilter, page)
	}
	var last deliveries.ID
	if v.Deliveries, last = paged(v.Deliveries, pageDeliveries, func(d deliveries.Delivery) deliveries.ID { return d.ID }); last != 0 {
		v.Next = c.nextPagePath(id, filter, last)
	}
	return err
}

// nextPagePath returns the path of the page after a delivery.
func (c call) nextPagePath(id events.OccurrenceID, filter url.Values, last deliveries.ID) string {
	filter.Set("after", formatID(last))
	return c.below("occurrences", id) + "?" + filter.Encode()
}

// mayRetry reports whether failed deliveries of an occurrence can be retried.
func (c call) mayRetry(o events.Occurrence) bool {
	return o.Cancelled.IsZero() && !o.Expired(c.console.clock.Now())
}

func (c call) cancelOccurrence() error {
	id := web.ID[events.OccurrenceID](c, "id")
	cancelled, err := c.console.use.Occurrences.Cancel(c.ctx, c.actor(), c.at(), id)
	if err != nil {
		return err
	}
	done := "cancelled"
	if cancelled.IsZero() {
		done = "over"
	}
	return c.done(c.below("occurrences", id), done)
}

func (c call) retry() error {
	id := web.ID[events.OccurrenceID](c, "id")
	var n int
	var err error
	if cause := (deliveries.FailureCause{Channel: channels.ID(c.selectedID("channel")), Words: c.FormValue("cause")}); cause != (deliveries.FailureCause{}) {
		n, err = c.console.use.Retries.WithCause(c.ctx, c.actor(), c.at(), id, cause)
	} else {
		n, err = c.console.use.Retries.Failed(c.ctx, c.actor(), c.at(), id)
	}
	if err != nil {
		return err
	}
	return c.done(c.below("occurrences", id), "retried", "count", strconv.Itoa(n))
}
