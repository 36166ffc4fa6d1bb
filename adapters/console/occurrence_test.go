package console_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

func (f *fixture) occurrenceID(text string) events.OccurrenceID {
	f.Helper()
	id, err := strconv.ParseInt(text, 10, 64)
	require.NoError(f, err)
	return events.OccurrenceID(id)
}

// expand writes all deliveries.
func (f *fixture) expand() {
	f.Helper()
	for {
		if _, err := f.store.Queue().Expand(f.Context(), deliveries.AllOccurrences, 1000); err != nil {
			require.ErrorIs(f, err, deliveries.ErrNothingToDo)
			return
		}
	}
}

// delivery returns the first delivery of an occurrence of acme.
func (f *fixture) delivery(id events.OccurrenceID) deliveries.ID {
	f.Helper()
	f.expand()
	found, err := f.use.Occurrences.Deliveries(f.Context(), app.Path{Organization: "acme", Project: "shop", Application: "web"}, id, "", app.Page{Limit: 1})
	require.NoError(f, err)
	require.NotEmpty(f, found)
	return found[0].ID
}

func occurrencePath(id events.OccurrenceID) string {
	return fmt.Sprintf("/console/o/acme/p/shop/a/web/occurrences/%d/", id)
}

func TestOccurrenceProgress(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		f.person("acme", "ada", users.RoleMember, false)
		f.addToList("ada")
		id := f.newOccurrence()
		b := f.as(f.operator("bob", users.RoleViewer))
		one := occurrencePath(id)
		page := b.get(one).is(f.T, http.StatusOK)
		assert.Contains(f, page.body, `hx-get="`+one+`progress/" hx-trigger="every 2s"`)
		assert.Contains(f, page.text(), "expanding Waits for its recipients to be looked up.")
		f.expand()
		assert.Contains(f, b.get(one+"progress/").text(), "delivering 0 of 1 delivery processed, 0 %.")
		f.fails(0)
		done := b.get(one+"progress/").is(f.T, http.StatusOK)
		assert.Contains(f, done.text(), "done 1 of 1 delivery processed, 100 %. 0 pending 0 sending 0 retrying 1 sent 0 failed 0 skipped")
		assert.NotContains(f, done.body, "<html", "it is a part of a page")
		assert.NotContains(f, done.body, "hx-get", "there is nothing to wait for")
		assert.Equal(f, one, done.Header.Get("Hx-Redirect"), "the page is shown again")
		for query, want := range map[string]string{"": one, "?count=2&done=retried": one, "?done=retried-one&state=sent": one + "?state=sent"} {
			b.header = http.Header{"Hx-Current-Url": {"https://tocsin.example" + one + query + "#deliveries"}}
			assert.Equal(f, want, b.get(one+"progress/").Header.Get("Hx-Redirect"), "with its filter, without a notice about the past")
		}
		assert.NotContains(f, b.get(one).body, "hx-get")
	})
}

func TestOccurrenceDeliveries(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		names := numbered(103, "ada%03d")
		f.people("acme", users.RoleMember, func(i int) bool { return i == 102 }, names...)
		f.addToList(names...)
		f.person("acme", "ada", users.RoleMember, false) // whom newOccurrence registers
		id := f.newOccurrence()
		f.expand()
		b := f.as(f.operator("bob", users.RoleViewer))
		row := regexp.MustCompile(`<th scope="row"><a href="[^"]*/d/\d+/"><bdi>([^<]*)@example\.org</bdi>`)
		walk := func(query string) []string {
			found, _ := b.walk(occurrencePath(id)+query, row)
			return found
		}
		assert.Len(f, walk(""), 103)
		assert.Len(f, walk("?state=pending"), 102)
		assert.Len(f, walk("?address=ADA"), 103)
		assert.Equal(f, []string{"ada010", "ada011", "ada012", "ada013", "ada014", "ada015", "ada016", "ada017", "ada018", "ada019"}, walk("?address=ada01"))
		assert.Empty(f, walk("?address=%25"))
		assert.Equal(f, []string{"ada102"}, walk("?reason=the+member+is+locked+in+the+organization"))
		assert.Len(f, walk("?reason=nonsense&state=nonsense"), 103)
		assert.Equal(f, []string{"ada102"}, walk("?address=ada102"), "also of those who were left out")
	})
}

func TestRetryByCause(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		for _, name := range []string{"ada", "gone1", "gone2"} {
			f.person("acme", name, users.RoleMember, false)
			f.addToList(name)
		}
		id := f.newOccurrence()
		f.fails(id)
		one := occurrencePath(id)
		b := f.as(f.operator("bob", users.RoleOperator))
		page := b.get(one).is(f.T, http.StatusOK)
		assert.Contains(f, page.text(), "Failures by reason Reason Channel Deliveries Send again no mailbox … mail 2 Retry these (no mailbox …, mail) the mailbox is <full> mail 1 Retry these")
		assert.NotContains(f, f.as(f.operator("vera", users.RoleViewer)).get(one).is(f.T, http.StatusOK).text(), "Retry these")
		assert.Contains(f, b.get(web).text(), "3 failed", "the list tells")

		channel := regexp.MustCompile(`name="channel" value="(\d+)"`).FindStringSubmatch(page.body)
		require.NotNil(f, channel)
		same := func(cause string) string {
			return b.post(one+"retry/", "channel", channel[1], "cause", cause).is(f.T, http.StatusSeeOther).Header.Get("Location")
		}
		assert.Equal(f, one+"?count=0&done=retried", same("another reason"))
		assert.Empty(f, f.entries("acme"))
		assert.Equal(f, one+"?count=2&done=retried", same("no mailbox …"))
		left := b.get(one + "?count=2&done=retried").text()
		assert.Contains(f, left, "2 failed deliveries will be sent again.")
		assert.Contains(f, left, "2 pending 0 sending 0 retrying 0 sent 1 failed")
		assert.NotContains(f, left, "no mailbox")
		assert.Equal(f, audit.State{"retried": float64(2), "cause": "no mailbox …"}, f.entries("acme")[0].After)

		_, err := f.use.Occurrences.Cancel(f.Context(), audit.Actor{}, app.Path{Organization: "acme", Project: "shop", Application: "web"}, id)
		require.NoError(f, err)
		b.post(one+"retry/", "channel", channel[1], "cause", "the mailbox is <full>").is(f.T, http.StatusBadRequest)
		assert.Contains(f, b.get(web).text(), "cancelled 2 waiting, 1 failed")
	})
}

func TestDelivery(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		f.person("acme", "ada", users.RoleMember, false)
		f.addToList("ada")
		id := f.newOccurrence()
		delivery := f.delivery(id)
		one := fmt.Sprintf("%sd/%d/", occurrencePath(id), delivery)
		b := f.as(f.operator("bob", users.RoleViewer))
		page := b.get(one).is(f.T, http.StatusOK)
		assert.Contains(f, page.text(), "The message as it would be sent now")
		assert.Contains(f, page.text(), "To ada@example.org Subject s Message id d")
		assert.Contains(f, page.body, `sandbox`)
		assert.Contains(f, page.text(), "hidden, because whoever has it can unsubscribe the recipient")
		assert.NotContains(f, page.body, "/unsubscribe/", "whoever has the link may use it")
		document := b.get(one+"html/").is(f.T, http.StatusOK)
		assert.Equal(f, "<b>t</b>", document.body)
		assert.Contains(f, document.Header.Get("Content-Security-Policy"), "sandbox")

		f.fails(id)
		assert.Contains(f, b.get(one).text(), "The message as it was to be sent")
		assert.Contains(f, b.get(one).text(), "The template has not changed since.")
		f.clock.Advance(time.Minute)
		f.rewrite(events.Template{Subject: "later", Text: "t"})
		page = b.get(one)
		assert.Contains(f, page.text(), "The template was changed since: this is version 1, as it was then, of 2.")
		assert.Contains(f, page.text(), "Subject s Message id")
		assert.NotContains(f, page.body, "later")
		assert.NotContains(f, page.body, "Send it again", "a viewer is offered no button")

		operator := f.as(f.operator("eve", users.RoleOperator))
		assert.Contains(f, operator.get(one).body, "Send it again")
		got := operator.post(one+"retry/").is(f.T, http.StatusSeeOther)
		assert.Equal(f, one+"?done=retried-one", got.Header.Get("Location"))
		assert.Contains(f, b.get(one+"?done=retried-one").text(), "The delivery will be sent again.")
		assert.Contains(f, b.get(one).text(), "The message as it would be sent now")
		assert.Contains(f, b.get(one).text(), "Subject later Message id", "with the template of now")
		e := f.entries("acme")[0]
		assert.Equal(f, audit.DeliveriesRetried, e.Action)
		assert.Equal(f, fmt.Sprintf("acme/p/shop/a/web/occurrences/%d/d/%d", id, delivery), e.Object)
		before := len(f.entries("acme"))
		got = operator.post(one+"retry/").is(f.T, http.StatusSeeOther)
		assert.Len(f, f.entries("acme"), before, "it had not failed")
		assert.Equal(f, one+"?done=retried-none", got.Header.Get("Location"))
		assert.Contains(f, b.get(one+"?done=retried-none").text(), "The delivery had not failed; nothing was changed.")

		other := f.newOccurrence()
		for _, wrong := range []string{fmt.Sprintf("%sd/%d/", occurrencePath(other), delivery), strings.Replace(one, "acme", "globex", 1), occurrencePath(id) + "d/0/"} {
			root := f.as(f.account("root", true))
			root.get(wrong).is(f.T, http.StatusNotFound)
			root.get(wrong+"html/").is(f.T, http.StatusNotFound)
			root.post(wrong+"retry/").is(f.T, http.StatusNotFound)
		}
	})
}

func TestDeliveryShowsTheSentBody(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		was, is events.Template
		want    string
	}{
		"HTMLChangedToMarkdown": {events.Template{Subject: "s", HTML: "<b>was</b>"}, events.Template{Subject: "s", Markdown: "*is*"}, "<b>was</b>"},
		"MarkdownThatChanged":   {events.Template{Subject: "s", Markdown: "**was**"}, events.Template{Subject: "s", Markdown: "*is*"}, "<p><strong>was</strong></p>\n"},
		"MarkdownChangedToHTML": {events.Template{Subject: "s", Markdown: "**was**"}, events.Template{Subject: "s", HTML: "<i>is</i>"}, "<p><strong>was</strong></p>\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(f *fixture) {
				f.person("acme", "ada", users.RoleMember, false)
				f.addToList("ada")
				f.rewrite(c.was)
				id := f.newOccurrence()
				one := fmt.Sprintf("%sd/%d/", occurrencePath(id), f.delivery(id))
				f.fails(id)
				f.clock.Advance(time.Minute)
				f.rewrite(c.is)
				b := f.as(f.operator("bob", users.RoleViewer))
				assert.Contains(f, b.get(one).text(), "The template was changed since: this is version 2, as it was then, of 3.")
				assert.Equal(f, c.want, b.get(one+"html/").is(f.T, http.StatusOK).body)
			})
		})
	}
}

func TestDeliveryWithoutTemplate(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.person("acme", "ada", users.RoleMember, false)
	f.addToList("ada")
	id := f.newOccurrence()
	one := fmt.Sprintf("%sd/%d/", occurrencePath(id), f.delivery(id))
	f.update(func(tx ports.Tx) error {
		a, errApp := tx.Applications().BySlug(f.Context(), "acme", "shop", "web")
		e, errEvent := tx.Events().BySlug(f.Context(), a, "tick")
		c, errChannel := tx.Channels().Find(f.Context(), a.Organization, 0, "mail")
		return errors.Join(errApp, errEvent, errChannel, tx.Events().DeleteTemplate(f.Context(), e, c.ID))
	})
	b := f.as(f.operator("bob", users.RoleViewer))
	assert.Contains(t, b.get(one).is(t, http.StatusOK).text(), "No message to show: the notification, the channel or the template is gone.")
	b.get(one+"html/").is(t, http.StatusNotFound)
	b.header = http.Header{"Accept-Language": {"de"}}
	assert.Contains(t, b.get(one).text(), "die Benachrichtigung, der Kanal oder die Vorlage ist entfernt.")
	assert.Contains(t, b.get(occurrencePath(id)).text(), "wird zugestellt")
}

// TestExplainAsksAgain checks that the page asks again for a user whom it does not find or who is
// ambiguous, and that it still refuses an occurrence that does not exist.
func TestExplainAsksAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.person("acme", "ada", users.RoleMember, false)
	f.update(func(tx ports.Tx) error {
		o, errOrg := tx.Orgs().BySlug(f.Context(), "acme")
		twins, _, errUsers := tx.Users().Ensure(f.Context(), []users.User{{Username: "eve"}, {Username: "zoe"}})
		shared := users.Details{Email: "both@example.org"}
		_, _, err := tx.Users().EnsureMembers(f.Context(), o.ID, []users.Member{{User: twins[0], Details: shared}, {User: twins[1], Details: shared}})
		return errors.Join(errOrg, errUsers, err)
	})
	id := f.newOccurrence()
	b := f.as(f.operator("bob", users.RoleViewer))
	one := occurrencePath(id)
	for typed, fault := range map[string]string{
		"adda":             "no user of this organization has this username or e-mail address",
		"":                 "no user of this organization has this username or e-mail address",
		"both@example.org": "several members have this e-mail: give one of their usernames: eve, zoe",
	} {
		page := b.get(one+"explain/?user="+url.QueryEscape(typed)).is(t, http.StatusBadRequest)
		assert.Contains(t, page.body, `<form class="search" method="get" action="`+one+`explain/">`, typed)
		assert.Contains(t, page.body, `name="user" type="text" value="`+typed+`"`, typed)
		assert.Contains(t, page.body, `aria-describedby="user-faults" aria-invalid="true" autofocus>`, typed)
		assert.Contains(t, page.body, `<ul class="faults" id="user-faults"><li><bdi>`+fault+`</bdi></li></ul>`, typed)
		assert.Contains(t, page.body, `<a href="`+one+`">`, typed)
	}
	found := b.get(one+"explain/?user=ada").is(t, http.StatusOK)
	assert.Contains(t, found.body, `name="user" type="text" value="ada"`, "the next question is asked here")
	assert.NotContains(t, found.body, "autofocus")
	assert.NotContains(t, b.get(one).is(t, http.StatusOK).body, "user-faults")
	b.get(occurrencePath(id+1)+"explain/?user=ada").is(t, http.StatusNotFound)
	b.get(occurrencePath(id+1)+"explain/?user=adda").is(t, http.StatusNotFound)
}

// rewrite gives the event of acme another template.
func (f *fixture) rewrite(t events.Template) {
	f.Helper()
	f.update(func(tx ports.Tx) error {
		a, errApp := tx.Applications().BySlug(f.Context(), "acme", "shop", "web")
		e, errEvent := tx.Events().BySlug(f.Context(), a, "tick")
		c, errChannel := tx.Channels().Find(f.Context(), a.Organization, 0, "mail")
		t.Channel = c.ID
		_, err := tx.Events().SaveTemplate(f.Context(), e, t, "root")
		return errors.Join(errApp, errEvent, errChannel, err)
	})
}
