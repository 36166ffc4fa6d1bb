package console_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// green matches the classes that the style sheet draws in the good colour.
var green = regexp.MustCompile(`class="(?:state (?:open|sent|done|active)|notice)"`)

// ends claims every due delivery and records these outcomes in turn.
func (f *fixture) ends(outcomes ...deliveries.Outcome) {
	f.Helper()
	f.records(func(n int, _ deliveries.Job) deliveries.Outcome { return outcomes[n%len(outcomes)] })
}

// mail returns the mail channel of acme.
func (f *fixture) mail() (c channels.Channel) {
	f.Helper()
	f.update(func(tx ports.Tx) error {
		org, err := tx.Orgs().BySlug(f.Context(), "acme")
		if err == nil {
			c, err = tx.Channels().Find(f.Context(), org.ID, 0, "mail")
		}
		return err
	})
	return c
}

// messagePages returns the pages that show what became of the messages of an occurrence to ada. A
// delivery of 0 is left out.
func (f *fixture) messagePages(id events.OccurrenceID, delivery deliveries.ID) map[string]string {
	f.Helper()
	one, all := occurrencePath(id), "/console/o/acme/channels/"
	pages := map[string]string{"occurrence": one, "progress": one + "progress/", "explain": one + "explain/?user=ada", "user": "/console/o/acme/u/" + f.id("ada") + "/",
		"channel": fmt.Sprintf("%s%d/", all, f.mail().ID), "channels": all, "messages": web}
	if delivery != 0 {
		pages["delivery"] = fmt.Sprintf("%sd/%d/", one, delivery)
	}
	return pages
}

// told returns a page; of the page of a user only the timeline, because it also shows locks.
func told(t *testing.T, b *browser, name, path string) string {
	t.Helper()
	body := b.get(path).is(t, http.StatusOK).body
	if name == "user" {
		_, body, _ = strings.Cut(body, `<section class="timeline"`)
		body, _, _ = strings.Cut(body, "</section>")
		require.NotEmpty(t, body)
	}
	return body
}

func TestGreenMeansSent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		nobody    bool // the occurrence has no recipients
		happens   func(f *fixture)
		explained string // the class of the sentence
		progress  string // the state of the occurrence
	}{
		"NoRecipients": {nobody: true, happens: (*fixture).expand, explained: "remark", progress: `<span class="state">nothing sent</span>`},
		"Waiting":      {happens: func(*fixture) {}, explained: "remark", progress: `<span class="state delivering">delivering</span>`},
		"ChannelDown":  {happens: func(f *fixture) { f.breaks() }, explained: "warning", progress: `<span class="state delivering">delivering</span>`},
		"Retrying": {happens: func(f *fixture) {
			f.ends(deliveries.Outcome{State: deliveries.Retrying, Attempts: 2, Next: f.clock.Now().Add(time.Hour), Error: "451 later"})
		}, explained: "remark", progress: `<span class="state delivering">delivering</span>`},
		"Failed": {happens: func(f *fixture) {
			f.ends(deliveries.Outcome{State: deliveries.Failed, Attempts: 1, Error: "550 no"})
		}, explained: "warning", progress: `<span class="state failed">failed</span>`},
		"Skipped": {happens: func(f *fixture) {
			f.ends(deliveries.Outcome{State: deliveries.Skipped, Reason: deliveries.MemberLocked})
		}, explained: "remark", progress: `<span class="state">nothing sent</span>`},
		"Sent": {happens: func(f *fixture) {
			f.ends(deliveries.Outcome{State: deliveries.Sent, Attempts: 1})
		}, explained: "notice", progress: `<span class="state done">done</span>`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(f *fixture) {
				f.person("acme", "ada", users.RoleMember, false)
				if !c.nobody {
					f.addToList("ada")
				}
				id := f.newOccurrence()
				var delivery deliveries.ID
				if !c.nobody {
					delivery = f.delivery(id)
				}
				c.happens(f)
				b := f.as(f.operator("bob", users.RoleViewer))
				for name, path := range f.messagePages(id, delivery) {
					body := told(f.T, b, name, path)
					if c.explained == "notice" && name != "messages" {
						assert.Regexp(f, green, body, name)
					} else {
						assert.Empty(f, green.FindAllString(body, -1), "%s: green means sent", name)
					}
					switch name {
					case "explain":
						assert.Contains(f, body, `<p class="`+c.explained+`">`, name)
					case "occurrence", "progress":
						assert.Contains(f, body, c.progress, name)
					}
				}
			})
		})
	}
}

// TestPartlyFailedIsNotGreen checks an occurrence of which one message was sent and one failed.
func TestPartlyFailedIsNotGreen(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		for _, name := range []string{"ada", "eva"} {
			f.person("acme", name, users.RoleMember, false)
			f.addToList(name)
		}
		id := f.newOccurrence()
		f.ends(deliveries.Outcome{State: deliveries.Sent, Attempts: 1}, deliveries.Outcome{State: deliveries.Failed, Attempts: 1, Error: "550 no"})
		b := f.as(f.operator("bob", users.RoleViewer))
		page := b.get(occurrencePath(id) + "progress/")
		assert.Contains(f, page.body, `<span class="state failed">partly failed</span>`)
		assert.Empty(f, green.FindAllString(page.body, -1))
		b.header = http.Header{"Accept-Language": {"de"}}
		assert.Contains(f, b.get(occurrencePath(id)).body, `<span class="state failed">teils fehlgeschlagen</span>`)
	})
}

// TestChannelIsGreenWhileItSends checks that a channel that sent yesterday, or whose latest
// messages all failed, does not show green.
func TestChannelIsGreenWhileItSends(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		f.person("acme", "ada", users.RoleMember, false)
		f.addToList("ada")
		b := f.as(f.operator("bob", users.RoleViewer))
		list := "/console/o/acme/channels/"
		one := fmt.Sprintf("%s%d/", list, f.mail().ID)
		shows := func(state string) {
			f.Helper()
			assert.Contains(f, b.get(list).body, state)
			page := b.get(one).body
			assert.Contains(f, page, `<dt>State</dt><dd><span class="state">active</span>`)
			assert.Contains(f, page, `<dt>Health</dt><dd>`+state)
		}
		shows(`<span class="state">active</span>`)

		f.newOccurrence()
		f.ends(deliveries.Outcome{State: deliveries.Sent, Attempts: 1})
		shows(`<span class="state active">working</span>`)

		f.clock.Advance(time.Hour)
		f.newOccurrence()
		f.ends(deliveries.Outcome{State: deliveries.Failed, Attempts: 1, Error: "550 no"})
		shows(`<span class="state">active</span>`)

		f.newOccurrence()
		f.ends(deliveries.Outcome{State: deliveries.Sent, Attempts: 1})
		shows(`<span class="state active">working</span>`)
		f.breaks()
		shows(`<span class="state failing">paused on 1 instance</span>`)
		assert.Empty(f, green.FindAllString(b.get(one).body, -1))

		c := f.mail()
		f.update(func(tx ports.Tx) error {
			return tx.Channels().ClearOutages(f.Context(), c.Organization, c.ID)
		})
		f.clock.Advance(24 * time.Hour)
		b = f.as(f.operator("vera", users.RoleViewer)) // bob's sign-in has expired.
		shows(`<span class="state">active</span>`)
	})
}
