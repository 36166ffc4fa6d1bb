package console

import (
	"cmp"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/names"
	"github.com/tocsin/tocsin/domain/requests"
)

// dryRunValidity is how long a trigger may be sent after its dry run.
const dryRunValidity = time.Hour

// confirmAbove is the number of recipients above which the operator must type the number to send.
const confirmAbove = 100

// errNotChecked refuses a trigger without a valid dry run.
var errNotChecked = fault.New(fault.Invalid, "the form has changed since the dry run, or the dry run is too old; do another dry run")

// triggerView is the tab "Live" of an event: its state, and the form that triggers it.
type triggerView struct {
	app.Triggerable

	Here     string // the path of the event
	Tabs     []tab
	Problems []words.Phrase // why the event cannot reach recipients
	State    form           // of the form that makes it live or a draft
	Form     form
	DryRun   *dryRunView // nil: there was none
}

// Choices returns the channels that a trigger may be limited to.
func (v triggerView) Choices() []option { return options(v.Channels...) }

// Priorities returns the options of the priority.
func (v triggerView) Priorities() []option {
	return append([]option{{"", words.Of("%s, as the event", v.Event.Priority)}}, priorities()...)
}

// dryRunView is the result of a dry run, with the form that sends the trigger.
type dryRunView struct {
	app.Forecast
	Trigger checkedTrigger
	Samples []dryRunMessage
	Form    form // with the typed number of recipients
}

// Warnings returns problems to know before sending: no recipients, rendering errors, undefined
// variables.
func (v dryRunView) Warnings() []words.Phrase {
	var all []words.Phrase
	if v.People == 0 {
		all = append(all, words.Of("Nobody gets a message."))
	}
	for _, m := range v.Messages {
		if m.Error != "" {
			all = append(all, words.Of("%s by %s: the message cannot be rendered: %s", m.Notification, m.Channel, words.Message(m.Error)))
		}
		for _, b := range m.MissingVariables {
			all = append(all, words.Of("%s by %s: undefined variable %s", m.Notification, m.Channel, b))
		}
	}
	slices.SortFunc(all, func(a, b words.Phrase) int { return strings.Compare(a.String(), b.String()) })
	return slices.CompactFunc(all, func(a, b words.Phrase) bool { return a.String() == b.String() })
}

// MustConfirm reports whether the operator must type the number of recipients.
func (v dryRunView) MustConfirm() bool { return v.People > confirmAbove }

// Delivered returns the recipients who get a message.
func (v dryRunView) Delivered() []deliveries.Group { return v.groups(false) }

// LeftOut returns the recipients who get nothing.
func (v dryRunView) LeftOut() []deliveries.Group { return v.groups(true) }

func (v dryRunView) groups(leftOut bool) []deliveries.Group {
	return slices.DeleteFunc(slices.Clone(v.Groups), func(g deliveries.Group) bool { return (g.Reason != "") != leftOut })
}

// dryRunMessage is a sample message of a dry run, with the MAC of its HTML.
type dryRunMessage struct {
	app.ForecastMessage

	Frame string // the name of the frame that shows its HTML
	Seal  string // of its HTML
}

// checkedTrigger is a trigger after its dry run. It can be sent unchanged and once: ID is the
// idempotency key, and Seal is a MAC bound to the session.
type checkedTrigger struct {
	Context  string
	LimitTo  []string
	Channels []string
	Priority string // empty: the event's
	SendAt   string // as entered; empty: at once
	// ExpiresAt is as entered; empty: never.
	ExpiresAt string
	CID       string
	People    string // the number of recipients of the dry run
	ID        string
	At        string // in seconds
	Seal      string
}

func (c call) showLive() error { return c.livePage(form{}) }

// livePage renders the tab with the event's example in the form.
func (c call) livePage(state form) error {
	found, err := c.console.use.Triggers.Show(c.ctx, c.at(), web.Param(c, "evt"))
	if err != nil {
		return err
	}
	return c.renderTrigger(found, triggerView{State: state, Form: newForm("context", cmp.Or(found.Event.Example, "{\n}"))})
}

// setEventLive makes an event live or a draft.
func (c call) setEventLive() error {
	on, err := c.parseSwitch("on")
	if err != nil {
		return err
	}
	done := "draft"
	if on {
		done = "live"
	}
	return c.patchEvent(func(f *app.EventForm) { f.Active = on }, c.livePage, done, liveTab)
}

func (c call) triggerPage(f form, dryRun *dryRunView) error {
	found, err := c.console.use.Triggers.Show(c.ctx, c.at(), web.Param(c, "evt"))
	if err != nil {
		return err
	}
	return c.renderTrigger(found, triggerView{Form: f, DryRun: dryRun})
}

func (c call) renderTrigger(t app.Triggerable, v triggerView) error {
	forms := []form{v.Form, v.State}
	if v.DryRun != nil {
		forms = append(forms, v.DryRun.Form)
	}
	v.Triggerable, v.Here = t, c.below("e", t.Event.Slug)
	v.Tabs = c.tabs(t.Application, t.Event, t.EventParts, liveTab)
	v.Problems = eventProblems(t.Application, t.Event, t.EventParts)
	return c.render(statusOf(forms...), "event-live", words.Of("%s: live", t.Event.Name), v)
}

// showDryRun renders the result of a dry run.
func (c call) showDryRun() error { return c.dryRunPage(form{}) }

// dryRunPage is showDryRun with the fault of the number field.
func (c call) dryRunPage(numberFault form) error {
	a, what, err := c.triggerForm()
	result := dryRunView{Form: numberFault}
	if err == nil {
		result.Forecast, err = c.console.use.Triggers.Try(c.ctx, c.at(), web.Param(c, "evt"), what)
	}
	if f, correctable := c.refused(err); correctable {
		return c.triggerPage(f, nil)
	}
	if err != nil {
		return err
	}
	a.People = strconv.Itoa(result.People)
	a.ID, a.At = rand.Text(), strconv.FormatInt(c.console.clock.Now().Unix(), 10)
	a.Seal = c.seal(a)
	result.Trigger = a
	for i, m := range result.Messages {
		result.Samples = append(result.Samples, dryRunMessage{m, "html-" + strconv.Itoa(i+1), c.sealHTML(m.Message.HTML)})
	}
	return c.triggerPage(c.asSent(), &result)
}

// sendTrigger triggers the event after a dry run. Sending the same form again returns the same
// occurrence.
func (c call) sendTrigger() error {
	a, what, err := c.triggerForm()
	if err == nil {
		a.People, a.ID, a.At, a.Seal = c.FormValue("people"), c.FormValue("word"), c.FormValue("at"), c.FormValue("seal")
		what.Request, err = c.checkedRequest(a)
	}
	if err == nil && !countConfirmed(a.People, c.FormValue("number")) {
		wrong, _ := c.refused(fault.Field("number", "must be the number of people who get a message"))
		return c.dryRunPage(wrong)
	}
	var o events.Occurrence
	if err == nil {
		o, _, err = c.console.use.Triggers.Trigger(c.ctx, c.actor(), c.at(), web.Param(c, "evt"), what)
	}
	if f, correctable := c.refused(err); correctable {
		return c.triggerPage(f, nil)
	}
	if err != nil {
		return err
	}
	return c.redirect(c.below("occurrences", o.ID))
}

// showDryRunHTML serves the HTML of a sample message for its frame, if its MAC is valid. See
// sandboxPolicy.
func (c call) showDryRunHTML() error {
	document := c.FormValue("html")
	if !hmac.Equal([]byte(c.FormValue("seal")), []byte(c.sealHTML(document))) {
		return errNotChecked
	}
	return c.respondSandboxed(document)
}

// ungrouped removes what languages put between groups of three digits, among it two kinds of
// no-break space.
var ungrouped = strings.NewReplacer(",", "", ".", "", "'", "", "’", "", " ", "", "\u00a0", "", "\u202f", "")

// countConfirmed reports whether the typed number is the number of recipients. Small numbers need
// no confirmation.
func countConfirmed(people, typed string) bool {
	n, err := strconv.Atoi(people)
	if err == nil && n <= confirmAbove {
		return true
	}
	return err == nil && ungrouped.Replace(typed) == people
}

// triggerForm parses the form of a trigger.
func (c call) triggerForm() (a checkedTrigger, what app.Trigger, err error) {
	var faults fault.Fields
	a.Context, a.LimitTo, a.Channels = strings.TrimSpace(c.FormValue("context")), lines(c.FormValue("options.limit_to")), c.values("options.channels")
	if a.Context == "" {
		a.Context = "{}"
	}
	data, err := metadata.ParseObject([]byte(a.Context))
	faults.Add("context", err)
	if what.Context, err = data.Encode(); err != nil {
		faults.Add("context", err)
	}
	what.Options, err = events.NewOptions(a.LimitTo, a.Channels)
	faults.Add("", err)
	if a.Priority = c.FormValue("options.priority"); a.Priority != "" {
		p, err := events.ParsePriority("options.priority", a.Priority)
		faults.Add("", err)
		what.Priority = &p
	}
	what.Options.SendAt, a.SendAt = c.parseTime("options.send_at", &faults)
	what.Options.ExpiresAt, a.ExpiresAt = c.parseTime("options.expires_at", &faults)
	what.CorrelationID, err = names.OptionalLabel("cid", c.FormValue("cid"))
	faults.Add("cid", err)
	a.CID, what.RefusePast = what.CorrelationID, true
	what.RequestID, what.Traceparent = web.RequestID(c), web.Traceparent(c)
	return a, what, faults.Err()
}

// parseTime parses a form field with a time in UTC, and also returns its text. A time with an
// offset is accepted, too.
func (c call) parseTime(field string, faults *fault.Fields) (time.Time, string) {
	text := strings.TrimSpace(c.FormValue(field))
	if text == "" {
		return time.Time{}, ""
	}
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, text
		}
	}
	if _, err := events.ParseRFC3339(text); err != nil {
		faults.Addf(field, "must be a time in UTC, such as 2026-12-24T18:00")
		return time.Time{}, text
	}
	t, err := events.ParseTime(field, text)
	faults.Add(field, err)
	return t, text
}

// lines returns the non-empty lines of a text; nil if there are none.
func lines(text string) []string {
	var all []string
	for l := range strings.Lines(text) {
		if l = strings.TrimSpace(l); l != "" {
			all = append(all, l)
		}
	}
	return all
}

// checkedRequest returns the idempotent request of a checked trigger, or errNotChecked.
func (c call) checkedRequest(a checkedTrigger) (*requests.Request, error) {
	at, err := strconv.ParseInt(a.At, 10, 64)
	age := c.console.clock.Now().Sub(time.Unix(at, 0))
	if err != nil || age < 0 || age > dryRunValidity || !hmac.Equal([]byte(a.Seal), []byte(c.seal(a))) {
		return nil, errNotChecked
	}
	seal, err := hex.DecodeString(a.Seal)
	if err != nil || len(seal) != sha256.Size {
		return nil, errNotChecked
	}
	return &requests.Request{IdempotencyKey: a.ID, Digest: [sha256.Size]byte(seal)}, nil
}

// seal returns a MAC of a trigger and its event, bound to the session.
func (c call) seal(a checkedTrigger) string {
	at := c.at()
	return c.sealTexts([]string{"trigger", at.Organization, at.Project, at.Application, web.Param(c, "evt"), a.Context, a.Priority, a.SendAt, a.ExpiresAt, a.CID,
		a.People, a.ID, a.At}, a.LimitTo, a.Channels)
}

// sealHTML returns a MAC of a message's HTML, bound to the session. It normalizes line endings,
// because forms turn them into CR LF.
func (c call) sealHTML(document string) string {
	return c.sealTexts([]string{"html", strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(document)})
}

// sealTexts returns a MAC of groups of texts, bound to the session.
func (c call) sealTexts(groups ...[]string) string {
	mac := hmac.New(sha256.New, []byte(c.token))
	for _, texts := range groups { // Length prefixes make the encoding unambiguous.
		_, _ = fmt.Fprintf(mac, "%d ", len(texts)) // Writing to a hash never fails.
		for _, t := range texts {
			_, _ = fmt.Fprintf(mac, "%d %s", len(t), t)
		}
	}
	return hex.EncodeToString(mac.Sum(nil))
}
