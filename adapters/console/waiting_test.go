package console_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// breaks records that the mail channel of acme has not worked for a minute and is paused for
// another one, and returns it.
func (f *fixture) breaks() channels.Channel {
	f.Helper()
	c := f.mail()
	now := f.clock.Now()
	require.NoError(f, f.store.Queue().ReportOutage(f.Context(), channels.Outage{Channel: c.ID, Instance: "a", Since: now.Add(-time.Minute), Last: now,
		Until: now.Add(time.Minute), Error: "421 <no> service"}))
	return c
}

// schedule does the scheduled work that is due.
func (f *fixture) schedule() {
	f.Helper()
	for n := 1; n > 0; {
		var err error
		n, err = f.store.Queue().Schedule(f.Context(), 100)
		require.NoError(f, err)
	}
}

func TestWaitingDeliveries(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		f.person("acme", "ada", users.RoleMember, false)
		f.addToList("ada")
		id := f.newOccurrence()
		delivery := f.delivery(id)
		b := f.as(f.operator("bob", users.RoleViewer))
		one := occurrencePath(id)
		pages := []string{one, one + "progress/", fmt.Sprintf("%sd/%d/", one, delivery), one + "explain/?user=ada", "/console/o/acme/u/" + f.id("ada") + "/"}
		for _, path := range pages {
			page := b.get(path).is(f.T, http.StatusOK)
			assert.Contains(f, strings.ToLower(page.text()), "waits for its turn", path)
			assert.NotContains(f, page.text(), "channel not working", path)
		}

		assert.Contains(f, b.get(one).text(), "waits for its turn: it goes next")

		for _, path := range append(pages[2:3:3], pages[4]) {
			assert.NotContains(f, b.get(path).text(), "Attempts: ", "%s: none was made", path)
		}
		layouts := map[bool]string{false: "2006-01-02 15:04:05 UTC", true: time.RFC3339}
		again := f.clock.Now().Add(time.Hour)
		f.ends(deliveries.Outcome{State: deliveries.Retrying, Attempts: 2, Next: again, Error: "451 later"})
		for i, said := range map[int]string{0: "retrying 2 451 later ; waits for the next attempt", 1: "waits for the next attempt", 2: "Attempts 2 ", 3: "Attempts 2 ", 4: "Attempts: 2 "} {
			page := b.get(pages[i]).text()
			assert.Contains(f, page, said, pages[i])
			assert.Contains(f, page, "the next attempt, at "+again.UTC().Format(layouts[i == 3]), pages[i])
		}
		f.clock.Advance(time.Hour)

		f.breaks()
		for i, path := range pages {
			page := b.get(path).is(f.T, http.StatusOK)
			assert.Contains(f, page.body, `<span class="state failing">channel not working</span>`, path)
			assert.Contains(f, page.text(), "which has failed since 2026-03-0", path)
			assert.Contains(f, page.text(), "421 <no> service", path)
			if i < 4 { // The page of a user mentions locks as well.
				assert.NotContains(f, page.body, `class="state open"`, "%s: green means sent", path)
			}
		}
		next := f.clock.Now().Add(time.Minute)
		assert.Contains(f, b.get(pages[2]).text(), "Next attempt "+next.UTC().Format("2006-01-02 15:04:05 UTC"))
		assert.NotContains(f, b.get(pages[3]).text(), "Nothing is blocking it")

		german := f.as(f.operator("eva", users.RoleViewer))
		german.header = http.Header{"Accept-Language": {"de"}}
		for _, path := range append(pages[:3:3], pages[4]) { // Explaining has a sentence of its own.
			assert.Contains(f, german.get(path).text(), "gestört seit 2026-03-0", path)
		}

		f.fails(0) // Nothing is of it: all is sent.
		for _, path := range pages {
			page := b.get(path)
			assert.NotContains(f, page.text(), "waits for", path)
			assert.NotContains(f, page.text(), "channel not working", path)
		}
		assert.Contains(f, b.get(pages[3]).body, `<span class="state sent">sent</span>`)
	})
}

// TestNoExpectedEndDuringOutage checks that the rate so far is no promise about
// messages that wait for their channel to work again.
func TestNoExpectedEndDuringOutage(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		for _, name := range []string{"ada", "eva"} {
			f.person("acme", name, users.RoleMember, false)
			f.addToList(name)
		}
		id := f.newOccurrence()
		f.expand()
		queue := f.store.Queue()
		due, err := queue.Due(f.Context())
		require.NoError(f, err)
		jobs, err := queue.Claim(f.Context(), due[0].Channel, "test", 1, time.Hour)
		require.NoError(f, err)
		require.Len(f, jobs, 1)
		_, err = queue.Record(f.Context(), "test", []deliveries.Outcome{{ID: jobs[0].ID, State: deliveries.Sent, Attempts: 1}})
		require.NoError(f, err)
		f.clock.Advance(time.Minute)
		b := f.as(f.operator("bob", users.RoleViewer))
		one := occurrencePath(id)
		assert.Contains(f, b.get(one).text(), "1 of 2 deliveries processed, 50 %, 1 per minute. At this rate it finishes at 2026-03-0")
		f.breaks()
		broken := b.get(one).text()
		assert.Contains(f, broken, "1 of 2 deliveries processed, 50 %")
		assert.NotContains(f, broken, "At this rate")
	})
}

func TestChannelQuota(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		f.person("acme", "ada", users.RoleMember, false)
		f.addToList("ada")
		id := f.newOccurrence()
		f.delivery(id)
		c := f.breaks()
		path := fmt.Sprintf("/console/o/acme/channels/%d/", c.ID)
		b := f.as(f.operator("bob", users.RoleViewer))
		assert.NotContains(f, b.get(path).is(f.T, http.StatusOK).text(), "used today")
		quota := channels.Quota{PerDay: 2_000, PerMonth: 30_000}
		f.update(func(tx ports.Tx) error {
			c.Settings = channels.Settings{channels.SettingQuotaPerDay: quota.PerDay, channels.SettingQuotaPerMonth: quota.PerMonth}
			return errors.Join(tx.Channels().Save(f.Context(), c), tx.Channels().ClearOutages(f.Context(), c.Organization, c.ID))
		})
		assert.Contains(f, b.get(path).text(), "Quota 0 of 2,000 used today, 0 of 30,000 used this month (UTC)")
		list := "/console/o/acme/channels/"
		for range 2 { // The second one finds nothing.
			assert.Contains(f, b.get(list).body, `<span class="state">active</span>`, "nothing was sent so far")
			assert.NotContains(f, b.get(path).text(), "used up")
			_, err := f.store.Queue().TakeQuota(f.Context(), c.ID, quota, 2_000, channels.Allowance{})
			require.NoError(f, err)
		}
		assert.Contains(f, b.get(list).body, `<span class="state failing">quota used up</span>`)
		assert.Contains(f, b.get(list).text(), "Nothing is sent until 2026-03-0")
		assert.Contains(f, b.get(path).text(), "Quota 2,000 of 2,000 used today, 2,000 of 30,000 used this month (UTC) used up until 2026-03-0")
		assert.Contains(f, b.get(path).text(), "Health quota used up")
		assert.Contains(f, b.get(occurrencePath(id)).text(), "waits for the channel, whose quota is used up until 2026-03-0")
		c.Active = false
		f.update(func(tx ports.Tx) error { return tx.Channels().Save(f.Context(), c) })
		assert.Contains(f, b.get(path).text(), "Health inactive")
	})
}

func TestScheduleForAMomentThatPasses(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		b := f.as(f.operator("eve", users.RoleAdministrator))
		to, begins := web+"e/tick/trigger/", f.clock.Now().UTC().Add(10*time.Minute)
		confirmed := func() url.Values {
			form := url.Values{"form_token": {b.token()}, "context": {"{}"}, "options.send_at": {begins.Format("2006-01-02T15:04:05")}}
			sent := b.do(http.MethodPost, to, form).is(f.T, http.StatusOK).confirmation()
			sent.Set("form_token", b.token())
			return sent
		}
		scheduled, late := confirmed(), confirmed()
		first := b.do(http.MethodPost, to+"send/", scheduled).is(f.T, http.StatusSeeOther).Header.Get("Location")
		f.clock.Advance(20 * time.Minute)
		refused := b.do(http.MethodPost, to+"send/", late).is(f.T, http.StatusBadRequest)
		assert.Contains(f, refused.body, `id="options.send_at-faults"`)
		assert.Contains(f, refused.text(), "has passed")
		again := b.do(http.MethodPost, to+"send/", scheduled).is(f.T, http.StatusSeeOther).Header.Get("Location")
		assert.Equal(f, first, again, "it was scheduled in time")
		assert.Len(f, f.newest(10), 1)
	})
}

func TestScheduleAndCancelOccurrence(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		f.person("acme", "ada", users.RoleMember, false)
		f.addToList("ada")
		b := f.as(f.operator("eve", users.RoleAdministrator))
		to := web + "e/tick/trigger/"
		begins := f.clock.Now().Add(time.Hour).UTC().Truncate(time.Minute)
		form := url.Values{"form_token": {b.token()}, "context": {"{}"}, "options.send_at": {begins.Format("2006-01-02T15:04")},
			"options.expires_at": {begins.Add(time.Hour).Format("2006-01-02T15:04:05")}}
		wrong := url.Values{"form_token": {b.token()}, "context": {"{}"}, "options.send_at": {"soon"}, "options.expires_at": {f.clock.Now().Add(-time.Hour).Format(time.RFC3339)}}
		for _, typed := range []string{"soon", "2026-02-30T10:00", "2027-06-30T23:00:00+24:00"} {
			wrong.Set("options.send_at", typed)
			said := b.do(http.MethodPost, to, wrong).is(f.T, http.StatusBadRequest).text()
			assert.Contains(f, said, "must be a time in UTC, such as 2026-12-24T18:00")
			assert.NotContains(f, said, "offset")
		}
		wrong.Set("options.send_at", "1969-12-31T23:59:59Z")
		assert.Contains(f, b.do(http.MethodPost, to, wrong).is(f.T, http.StatusBadRequest).text(), "is before 1970")
		wrong.Set("options.send_at", "")
		assert.Contains(f, b.do(http.MethodPost, to, wrong).is(f.T, http.StatusBadRequest).text(), "has passed")

		for _, past := range []time.Duration{0, time.Hour} {
			wrong.Set("options.send_at", f.clock.Now().UTC().Add(-past).Format("2006-01-02T15:04"))
			wrong.Set("options.expires_at", "")
			late := b.do(http.MethodPost, to, wrong).is(f.T, http.StatusBadRequest)
			assert.Contains(f, late.body, `id="options.send_at-faults"`)
			assert.Contains(f, late.text(), "has passed")
			assert.NotContains(f, late.text(), "Schedule it")
		}

		tried := b.do(http.MethodPost, to, form).is(f.T, http.StatusOK)
		assert.Contains(f, tried.text(), "Recipients are looked up then. Schedule it")
		sent := tried.confirmation()
		sent.Set("form_token", b.token())
		sent.Set("options.send_at", "")
		b.do(http.MethodPost, to+"send/", sent).is(f.T, http.StatusBadRequest)
		sent = tried.confirmation()
		sent.Set("form_token", b.token())
		path := b.do(http.MethodPost, to+"send/", sent).is(f.T, http.StatusSeeOther).Header.Get("Location")
		all := f.newest(10)
		require.Len(f, all, 1)
		assert.Equal(f, begins, all[0].Options.SendAt)
		assert.Equal(f, begins.Add(time.Hour), all[0].Options.ExpiresAt)
		said := b.get(path).is(f.T, http.StatusOK).text()
		assert.Contains(f, said, "Nothing is sent before "+begins.Format("2006-01-02 15:04:05 UTC"))
		assert.Contains(f, b.get(web).text(), "scheduled for "+begins.Format("2006-01-02 15:04:05 UTC"))

		viewer := f.as(f.operator("bob", users.RoleViewer))
		assert.NotContains(f, viewer.get(path).body, "Cancel permanently")
		viewer.post(path+"cancel/").is(f.T, http.StatusForbidden)
		operator := f.as(f.operator("kim", users.RoleOperator))
		assert.Contains(f, operator.get(path).body, "Cancel permanently")
		before := len(f.entries("acme"))
		assert.Equal(f, path+"?done=cancelled", operator.post(path+"cancel/").is(f.T, http.StatusSeeOther).Header.Get("Location"))
		assert.Equal(f, path+"?done=cancelled", operator.post(path+"cancel/").is(f.T, http.StatusSeeOther).Header.Get("Location"), "again it is the same")
		require.Len(f, f.entries("acme"), before+1)
		assert.Equal(f, audit.OccurrenceCancelled, f.entries("acme")[0].Action)
		assert.Equal(f, "acme/p/shop/a/web/occurrences/"+fmt.Sprint(all[0].ID), f.entries("acme")[0].Object)
		f.clock.Advance(2 * time.Hour)
		f.schedule()
		f.expand()
		page := operator.get(path + "?done=cancelled")
		assert.Contains(f, page.text(), "Occurrence cancelled. Sent messages stay counted.")
		assert.Contains(f, page.text(), "0 of 0 deliveries processed")
		assert.NotContains(f, page.body, "Cancel permanently")
		assert.Contains(f, operator.get(web).text(), "cancelled")
	})
}

func TestCancelAndRetryAfterTheEnd(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		f.person("acme", "ada", users.RoleMember, false)
		f.person("acme", "ben", users.RoleMember, false)
		f.addToList("ada")
		done := f.newOccurrence()
		f.fails(done)
		b := f.as(f.operator("eve", users.RoleOperator))
		before := len(f.entries("acme"))
		assert.NotContains(f, b.get(occurrencePath(done)).body, "Cancel permanently")
		assert.Equal(f, occurrencePath(done)+"?done=over", b.post(occurrencePath(done)+"cancel/").is(f.T, http.StatusSeeOther).Header.Get("Location"))
		assert.Contains(f, b.get(occurrencePath(done)+"?done=over").text(), "Nothing left to cancel.")
		assert.Len(f, f.entries("acme"), before)

		b.post(occurrencePath(done)+"retry/").is(f.T, http.StatusSeeOther)
		b.post(occurrencePath(done)+"cancel/").is(f.T, http.StatusSeeOther)
		f.schedule()
		assert.Contains(f, b.get(occurrencePath(done)).text(), "skipped 1")
		b.post(occurrencePath(done)+"retry/").is(f.T, http.StatusBadRequest)
	})
}

// TestRequestedPause checks that a pause that a provider asked for is not shown as a failure.
func TestRequestedPause(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		f.person("acme", "ada", users.RoleMember, false)
		f.addToList("ada")
		id := f.newOccurrence()
		pages := f.messagePages(id, f.delivery(id))
		now := f.clock.Now()
		until := now.Add(time.Minute)
		require.NoError(f, f.store.Queue().ReportOutage(f.Context(), channels.Outage{Channel: f.mail().ID, Instance: "a", Since: now, Last: now, Until: until,
			ForAll: true, Error: "429 slow <down>"}))
		b := f.as(f.operator("bob", users.RoleViewer))
		said := "waits for the provider, which asked for a pause until " + until.UTC().Format("2006-01-02 15:04:05 UTC") + " : 429 slow <down>"
		for name, path := range pages {
			page := b.get(path).is(f.T, http.StatusOK)
			assert.NotContains(f, page.text(), "has failed since", name)
			assert.NotContains(f, page.body, `class="state failing"`, name)
			assert.Empty(f, green.FindAllString(told(f.T, b, name, path), -1), name)
			switch name {
			case "occurrence", "progress", "delivery", "user":
				assert.Contains(f, page.text(), said, name)
			case "explain":
				assert.Contains(f, page.text(), "waits for the provider, which asked for a pause until "+until.UTC().Format(time.RFC3339)+": 429 slow <down>")
			case "channel":
				assert.Contains(f, page.text(), "Health paused by its provider until "+until.UTC().Format("2006-01-02 15:04:05 UTC"))
			case "channels":
				assert.Contains(f, page.body, `<span class="state waiting">paused by its provider</span>`)
			}
		}
		assert.Contains(f, b.get("/console/o/acme/").text(), "paused by its provider for")

		f.clock.Advance(time.Minute)
		assert.Contains(f, b.get(pages["occurrence"]).text(), "waits for its turn")
		assert.Contains(f, b.get(pages["channels"]).body, `<span class="state">active</span>`)
		assert.Contains(f, b.get(pages["channel"]).text(), "Health active")
		assert.NotContains(f, b.get("/console/o/acme/").text(), "paused by its provider for")
	})
}
