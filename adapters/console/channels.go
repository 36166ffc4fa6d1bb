package console

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/operators"
)

const pageChannels = 30

func (c call) showChannels() error {
	found, err := c.console.use.Channels.List(c.ctx, c.at(), app.Page{After: c.number("after"), Limit: pageChannels + 1})
	if err != nil {
		return err
	}
	v := channelsView{Here: c.below("channels"), Project: c.at().Project}
	found, v.Next = paged(found, pageChannels, func(ch app.ListedChannel) channels.ID { return ch.ID })
	now := c.console.clock.Now()
	for _, ch := range found {
		v.Cards = append(v.Cards, newChannelCard(ch, now))
	}
	return c.render(http.StatusOK, "channels", words.Of("Channels"), v)
}

// driverChoice is a driver that a new channel may have.
type driverChoice struct {
	Name  string
	About words.Phrase
}

// driverTexts has for each driver a description to show beside its name, and one to show instead of
// it.
var driverTexts = map[string]struct{ description, provider words.Phrase }{
	"smtp":     {words.Of("e-mail through a mail server"), words.Of("E-mail through a mail server")},
	"twilio":   {words.Of("SMS through Twilio"), words.Of("SMS through Twilio")},
	"webhook":  {words.Of("JSON to an HTTP endpoint, signed"), words.Of("JSON to an HTTP endpoint, signed")},
	"shoutrrr": {words.Of("chat and push: Slack, Teams, Telegram, Discord, Matrix, ntfy, Gotify and others"), words.Of("Chat and push: Slack, Teams, Telegram, Discord, Matrix, ntfy, Gotify and others")},
	"mailbox":  {words.Of("test mailbox: messages are kept here, not sent"), words.Of("Test mailbox: messages are kept here, not sent")},
}

func newDriverChoice(d deliveries.Driver) driverChoice {
	return driverChoice{d.Name(), driverTexts[d.Name()].description}
}

// newChannelView is the form of a new channel: first the choice of a driver, then its settings.
type newChannelView struct {
	Here      string // the path of the list
	Drivers   []driverChoice
	Driver    string // the one that was chosen; empty: none yet
	Fields    settingsView
	Form      form
	protocols []channels.Protocol
}

// Protocols returns the choices of a protocol.
func (v newChannelView) Protocols() []option {
	var all []option
	for _, p := range v.protocols {
		all = append(all, option{string(p), words.Of("%s (%s addresses)", string(p), p.Type())})
	}
	return all
}

func (c call) showNewChannel() error {
	driver, own := c.QueryParam("driver"), ""
	if d, err := c.console.use.Channels.Driver(driver); err == nil && len(d.Protocols()) > 0 {
		if own, err = c.ownAddress(d.Protocols()[0]); err != nil {
			return err
		}
	}
	return c.newChannelPage(driver, newForm("active", "true", "unrestricted", "true", "weight", strconv.Itoa(channels.DefaultWeight), "test_to", own))
}

// ownAddress returns the operator's address for a protocol; empty if there is none.
func (c call) ownAddress(p channels.Protocol) (string, error) {
	return c.console.use.ChannelTests.AddressOf(c.ctx, c.at(), p, c.operator.User)
}

func (c call) newChannelPage(driver string, f form) error {
	v := newChannelView{Here: c.below("channels"), Driver: driver, Form: f}
	for _, d := range c.console.use.Channels.Drivers() {
		v.Drivers = append(v.Drivers, newDriverChoice(d))
	}
	if driver == "" {
		return c.render(statusOf(f), "channel-new", words.Of("New channel"), v)
	}
	d, err := c.console.use.Channels.Driver(driver)
	if err != nil {
		v.Driver = ""
		return c.render(web.Status(fault.Invalid), "channel-new", words.Of("New channel"), v)
	}
	v.protocols, v.Fields = d.Protocols(), settingsView{Form: f, Settings: append(slices.Clone(d.Settings()), channels.CommonSettings()...)}
	return c.render(statusOf(f), "channel-new", words.Of("New channel: %s", driver), v)
}

func (c call) createChannel() error {
	driver := c.FormValue("driver")
	made, err := c.console.use.Channels.Create(c.ctx, c.editor(), c.at(), c.channelForm())
	if err == nil && c.wantsTest() {
		return c.testAfterSaving(made.ID, true)
	}
	return c.answerForm(err, func(f form) error { return c.newChannelPage(driver, f) }, c.below("channels", made.ID), "created-channel")
}

// channelView is one channel with its form.
type channelView struct {
	app.ChannelReport

	Here     string // the path of the page
	List     string // the path of the list
	Now      time.Time
	Form     form
	Test     form
	Deletion form
	Tested   *testView
	Saved    bool // the settings were saved before the test
	Created  bool // the channel was created before the test
}

// Provider describes what the channel sends through.
func (v channelView) Provider() words.Phrase { return providerOf(v.Driver) }

// Card returns the card with the state of the channel.
func (v channelView) Card() channelCard { return newChannelCard(v.ListedChannel, v.Now) }

// Health returns the card with the state that the list shows, too, except that it knows whether the
// settings can be opened.
func (v channelView) Health() channelCard {
	card := v.Card()
	if v.Sealed != "" {
		card.State, card.StateText = "failing", words.Of("sends nothing")
	}
	if v.Sealed != "" || !v.Active {
		card.Next = time.Time{}
	}
	return card
}

// Fields returns the fields of the settings.
func (v channelView) Fields() settingsView {
	return settingsView{Form: v.Form, Settings: v.Described, Stored: v.Kept}
}

// Value returns a setting for operators with read access.
func (v channelView) Value(s channels.Setting) any {
	switch {
	case slices.Contains(v.Kept, s.Name):
		return words.Of("set, and never shown")
	case v.Typed[s.Name] != "":
		return v.Typed[s.Name]
	case s.Default != "":
		return words.Of("default: %s", s.Default)
	}
	return words.Of("none")
}

func (c call) showChannel() error {
	id := c.channelID()
	return c.channelPage(id, func(*channelView) {})
}

// channelPage renders a channel; adjust may change the view first.
func (c call) channelPage(id channels.ID, adjust func(v *channelView)) (err error) {
	v := channelView{Here: c.below("channels", id), List: c.below("channels"), Now: c.console.clock.Now()}
	if v.ChannelReport, err = c.console.use.Channels.Show(c.ctx, c.at(), id); err != nil {
		return err
	}
	own := ""
	if c.operator.May(c.at().Organization, operators.Administrator) {
		if own, err = c.ownAddress(v.Protocol); err != nil {
			return err
		}
	}
	v.Form, v.Test = storedChannel(v.Stored()), newForm("to", own)
	v.Form.values.Set("test_to", own)
	adjust(&v)
	return c.render(statusOf(v.Form, v.Test, v.Deletion), "channel", v.Name, v)
}

func storedChannel(f app.ChannelForm) form {
	pairs := []string{"preferred", strconv.FormatBool(f.Preferred), "active", strconv.FormatBool(f.Active),
		"unrestricted", strconv.FormatBool(f.Unrestricted), "pool", f.Pool, "weight", strconv.Itoa(f.Weight)}
	for name, typed := range f.Settings {
		pairs = append(pairs, settingField(name), typed)
	}
	return newStoredForm(pairs...)
}

func (c call) saveChannel() error {
	id := c.channelID()
	sent := c.channelForm()
	err := c.console.use.Channels.Patch(c.ctx, c.editor(), c.at(), id, func(f *app.ChannelForm) {
		sent.Outdated = c.outdated(storedChannel(*f))
		*f = sent
	})
	if err == nil && c.wantsTest() {
		return c.testAfterSaving(id, false)
	}
	return c.answerForm(err, func(f form) error { return c.channelPage(id, func(v *channelView) { v.Form = f.over(v.Form) }) }, c.below("channels", id), "saved")
}

// wantsTest reports whether the form of a channel asks for a test after saving.
func (c call) wantsTest() bool { return c.FormValue("then") == "test" }

// testAfterSaving tests a channel that was just saved or created.
func (c call) testAfterSaving(id channels.ID, created bool) error {
	return c.sendTest(id, "test_to", func(v *channelView, f form, done *testView) {
		v.Form.values.Set("test_to", f.Value("test_to")) // The other values are the saved ones.
		f.values = v.Form.values
		v.Form, v.Tested, v.Saved, v.Created = f.renameField("to", "test_to"), done, true, created
	})
}

func (c call) testChannel() error {
	id := c.channelID()
	return c.sendTest(id, "to", func(v *channelView, f form, done *testView) { v.Test, v.Tested = f, done })
}

// sendTest sends a test to the address in a form field. It renders the channel; show puts the
// result into the view.
func (c call) sendTest(id channels.ID, field string, show func(v *channelView, f form, done *testView)) error {
	// A provider may take longer than a page; the use case has its own timeout.
	done, err := c.console.use.ChannelTests.SendThrough(c.Request().Context(), c.actor(), c.at(), id, c.FormValue(field))
	if f, correctable := c.refused(err); correctable {
		return c.channelPage(id, func(v *channelView) { show(v, f, nil) })
	}
	if err != nil {
		return err
	}
	return c.channelPage(id, func(v *channelView) { show(v, c.asSent(), c.testResult(done)) })
}

func (c call) deleteChannel() error {
	id := c.channelID()
	err := c.console.use.Channels.Delete(c.ctx, c.actor(), c.at(), id)
	return c.answerForm(err, func(f form) error { return c.channelPage(id, func(v *channelView) { v.Deletion = f }) }, c.below("channels"), "deleted-channel")
}

// channelForm parses the form of a channel. It removes secrets from the form, so that they are not
// shown again with it.
func (c call) channelForm() app.ChannelForm {
	sent := c.fields()
	f := app.ChannelForm{Name: c.FormValue("name"), Protocol: c.FormValue("protocol"), Driver: c.FormValue("driver"), Preferred: c.FormValue("preferred") == "true",
		Active: c.FormValue("active") == "true", Unrestricted: c.FormValue("unrestricted") == "true", Settings: map[string]string{}, Without: slices.Clone(sent["without"]),
		Pool: strings.TrimSpace(c.FormValue("pool")), Weight: parseWeight(c.FormValue("weight"))}
	for field := range sent {
		if name, ok := settingName(field); ok {
			f.Settings[name] = sent.Get(field)
		}
	}
	for _, d := range c.console.use.Channels.Drivers() {
		for _, name := range channels.Secrets(d.Settings()) {
			sent.Del(settingField(name)) // Of all drivers: a setting may be plain for one driver and secret for another.
		}
	}
	return f
}

// parseWeight parses a weight; anything that is not a number becomes an invalid one.
func parseWeight(typed string) int {
	typed = strings.TrimSpace(typed)
	if typed == "" {
		return channels.DefaultWeight
	}
	n, err := strconv.Atoi(typed)
	if err != nil {
		return -1
	}
	return n
}

// channelID returns the channel of the path: of the organization, or of the project.
func (c call) channelID() channels.ID {
	if web.Param(c, "prj") != "" {
		return web.ID[channels.ID](c, "own")
	}
	return web.ID[channels.ID](c, "channel")
}
