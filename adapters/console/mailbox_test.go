package console_test

import (
	"fmt"
	"html"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// keeps adds messages to the mailbox of a channel.
func (f *fixture) keeps(c channels.Channel, ms ...deliveries.Message) {
	f.Helper()
	f.update(func(tx ports.Tx) error {
		for _, m := range ms {
			if _, err := tx.Mailbox().Keep(f.Context(), c.Organization, c.ID, m); err != nil {
				return err
			}
		}
		return nil
	})
}

func TestMailbox(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		b := f.as(f.operator("bob", users.RoleViewer))
		assert.Contains(f, b.get(atAcme+"mailbox/").text(), "No message.")
		mail := f.channel(app.Path{Organization: "acme"}, "mail")
		admin := f.as(f.operator("ada", users.RoleAdministrator))
		created(admin, atAcme, "name", "second", "settings.host", "h")
		second := f.channel(app.Path{Organization: "acme"}, "second")
		for n := range 60 {
			f.keeps(mail, deliveries.Message{ID: fmt.Sprint(n), To: fmt.Sprintf("user%d@example.org", n%2), Subject: fmt.Sprintf("Subject %d", n)})
		}
		f.keeps(second, deliveries.Message{ID: "x", To: "user0@example.org", Subject: "By the second"})
		f.keeps(f.channel(app.Path{Organization: "globex"}, "mail"), deliveries.Message{ID: "y", To: "user0@example.org", Subject: "Theirs"})
		rows := func(a answer) int { return strings.Count(a.body, `<th scope="row">`) }
		first := b.get(atAcme+"mailbox/").is(f.T, http.StatusOK)
		assert.Equal(f, 50, rows(first))
		assert.Contains(f, first.text(), "By the second user0@example.org second EMAIL")
		assert.NotContains(f, first.body, "Theirs")
		more := further.FindStringSubmatch(first.body)
		require.NotEmpty(f, more)
		assert.Equal(f, 11, rows(b.get(html.UnescapeString(more[1]))))
		assert.Equal(f, 31, rows(b.get(atAcme+"mailbox/?to=USER0@example.org")))
		filtered := b.get(atAcme + "mailbox/?to=user0@example.org&channel=" + idText(second.ID))
		assert.Equal(f, 1, rows(filtered))
		assert.Contains(f, filtered.body, `<option value="`+idText(second.ID)+`" selected>second</option>`)
		assert.NotContains(f, filtered.body, "clear/", "a viewer deletes nothing")
		b.get(atAcme+"mailbox/?to="+strings.Repeat("x", 3000)).is(f.T, http.StatusBadRequest)

		assert.Contains(f, admin.get(atAcme+"mailbox/?channel="+idText(second.ID)).body, "Delete the messages of this channel")
		admin.post(atAcme+"mailbox/clear/", "channel", "0").is(f.T, http.StatusBadRequest)
		admin.post(atAcme+"mailbox/clear/", "channel", idText(second.ID)).is(f.T, http.StatusSeeOther)
		assert.Equal(f, 50, rows(b.get(atAcme+"mailbox/")))
		e := f.entries("acme")[0]
		assert.Equal(f, []any{"mailbox.clear", "acme/mailbox", float64(1), "second"}, []any{string(e.Action), e.Object, e.Before["messages"], e.Before["channel"]})
		admin.post(atAcme+"mailbox/clear/", "channel", "").is(f.T, http.StatusSeeOther)
		assert.Contains(f, b.get(atAcme+"mailbox/?done=cleared").text(), "No message.")
		theirs, err := f.use.Mailbox.Browse(f.Context(), app.Path{Organization: "globex"}, 0, "", 0, 10)
		require.NoError(f, err)
		assert.Len(f, theirs.Messages, 1)
	})
}

func TestMailboxMessage(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	mail := f.channel(app.Path{Organization: "acme"}, "mail")
	f.keeps(mail, deliveries.Message{ID: "1", To: "eve@example.org", Subject: dangerous, Text: dangerous, HTML: dangerous, Unsubscribe: "https://tocsin.example/unsubscribe/token/",
		Facts: map[string]string{"event": dangerous, dangerous: "x"}}, deliveries.Message{ID: "2", To: "eve@example.org", Text: "only text"})
	found, err := f.use.Mailbox.Browse(t.Context(), app.Path{Organization: "acme"}, 0, "", 0, 10)
	require.NoError(t, err)
	b := f.as(f.operator("bob", users.RoleViewer))
	path := atAcme + "mailbox/" + idText(found.Messages[1].ID) + "/"
	page := b.get(path).is(t, http.StatusOK)
	assert.Contains(t, page.body, `<iframe sandbox="" src="`+path+`html/" title="The HTML of the message" referrerpolicy="no-referrer"></iframe>`)
	for _, body := range []string{strings.Replace(page.body, `<iframe sandbox=""`, "", 1), b.get(atAcme + "mailbox/").body} {
		for _, alive := range []string{"<script>", "<img", "<meta http-equiv", `href="javascript:`, "<base", "<iframe", "<svg onload", `action="/console/account/sessions/end/"`} {
			assert.NotContains(t, body, alive)
		}
		assert.Contains(t, body, "alert(1)")
	}
	assert.NotContains(t, page.body, "unsubscribe/token", "that is for the recipient alone")
	assert.Equal(t, dangerous, b.get(path+"html/").stranger(t).body)
	plain := b.get(atAcme+"mailbox/"+idText(found.Messages[0].ID)+"/").is(t, http.StatusOK)
	assert.NotContains(t, plain.body, "<iframe")
	assert.Contains(t, plain.text(), "only text")
	b.get(atAcme+"mailbox/999/").is(t, http.StatusNotFound)
	b.get(atAcme+"mailbox/x/").is(t, http.StatusNotFound)
}
