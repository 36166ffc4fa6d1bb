package console_test

import (
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/subscriptions"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

func TestSubscriptionsAndOptOuts(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		b := f.as(f.operator("olga", users.RoleOperator))
		ada := f.person("acme", "ada", users.RoleMember, false)
		a := f.assigned("ada", "ada@example.org", "mail")
		to := web + "n/" + f.notification("acme") + "/subscriptions/"
		assert.Contains(f, b.get(to+"?people=ad").text(), "ada First Last Subscribe ada@example.org by mail")
		id := strconv.FormatInt(int64(a.ID), 10)
		for _, active := range []string{"true", "false", "true"} {
			b.post(to, "assignment", id, "active", active).is(f.T, http.StatusSeeOther)
			assert.Contains(f, f.latest(), "active:"+active)
			assert.Contains(f, f.latest(), "olga subscription.set acme/p/shop/a/web/n/")
		}
		assert.Contains(f, b.get(to).text(), "ada@example.org ada mail active Deactivate (ada@example.org by mail)")
		b.post(to, "assignment", "999", "active", "true").is(f.T, http.StatusNotFound)
		b.post(to, "assignment", id, "active", "perhaps").is(f.T, http.StatusBadRequest)

		n, err := strconv.ParseInt(f.notification("acme"), 10, 64)
		require.NoError(f, err)
		f.update(func(tx ports.Tx) error {
			_, err := tx.Deliveries().SetOptOut(f.Context(), deliveries.OptOut{Member: ada.ID, AddressKey: "ada@example.org", Notification: subscriptions.NotificationID(n)}, true)
			return err
		})
		assert.Contains(f, b.get(to).text(), "ada@example.org ada 2026-03-04 05:06:07 UTC Undo the opt-out of ada@example.org")
		undo := web + "n/" + f.notification("acme") + "/opt-outs/withdraw/"
		for range 2 { // Again it changes nothing, and nothing is recorded.
			b.post(undo, "member", f.id("ada"), "address", "ada@example.org").is(f.T, http.StatusSeeOther)
			assert.Equal(f, "olga opt_out.set acme/p/shop/a/web/u/ada map[opt_out:true] map[address:ada@example.org notification:Ticks opt_out:false]", f.latest())
		}
		assert.NotContains(f, b.get(to).text(), "Undo")
		b.post(undo, "member", "999", "address", "x").is(f.T, http.StatusNotFound)
	})
}

func TestWithdrawOptOutKeepsPage(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.as(f.operator("olga", users.RoleOperator))
	n, err := strconv.ParseInt(f.notification("acme"), 10, 64)
	require.NoError(t, err)
	for i := range 60 {
		m := f.person("acme", fmt.Sprintf("user%03d", i), users.RoleMember, false)
		f.update(func(tx ports.Tx) error {
			_, err := tx.Deliveries().SetOptOut(f.Context(), deliveries.OptOut{Member: m.ID, AddressKey: m.Email, Notification: subscriptions.NotificationID(n)}, true)
			return err
		})
	}
	row := regexp.MustCompile(`<th scope="row"><bdi>([^<]*)</bdi></th>`)
	first := b.get(web+"n/"+idText(n)+"/subscriptions/").is(t, http.StatusOK)
	next, _, _ := strings.Cut(html.UnescapeString(further.FindStringSubmatch(first.body)[1]), "#") // No browser sends what is behind it.
	second := b.get(next).is(t, http.StatusOK)
	stood := row.FindAllStringSubmatch(second.body, -1)
	require.Len(t, stood, 10)
	undo := regexp.MustCompile(`action="([^"]*/withdraw/[^"]*)".*?name="member" value="(\d+)".*?name="address" value="([^"]*)"`).FindStringSubmatch(second.body)
	require.NotEmpty(t, undo)
	back, _, _ := strings.Cut(b.post(html.UnescapeString(undo[1]), "member", undo[2], "address", undo[3]).is(t, http.StatusSeeOther).Header.Get("Location"), "#")
	assert.Equal(t, stood[1:], row.FindAllStringSubmatch(b.get(back).body, -1))
}
