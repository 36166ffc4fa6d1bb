package console_test

import (
	"html"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/quotas"
	"github.com/tocsin/tocsin/domain/users"
)

func TestQuotaError(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		b := f.as(f.operator("ada", users.RoleAdministrator))
		send := func(name string) map[string]answer {
			return map[string]answer{
				"an organization may have 1 channels, those of its projects included": b.post(atAcme+"channels/new/?driver=smtp",
					"driver", "smtp", "protocol", "EMAIL", "name", name, "settings.host", "h"),
				"an organization may have 1 API keys; revoked ones do not count":            b.post(atAcme+"keys/", "name", name, "grant", "user:read"),
				"an organization may have 1 distribution lists in all of its projects":      b.post(atAcme+"p/shop/d/", "name", name),
				"an organization may have 1 groups":                                         b.post(atAcme+"groups/", "name", name),
				"an organization may have 1 imports under way: wait for one of them to end": b.upload(atAcme+"imports/", b.token(), name+".csv", "email\n"),
			}
		}
		for said, a := range send("one") { // Now there is at least one of each.
			assert.Less(f, a.StatusCode, http.StatusBadRequest, said)
		}
		own := quotas.Limits{quotas.Channels: 1, quotas.Keys: 1, quotas.Lists: 1, quotas.Groups: 1, quotas.Imports: 1}
		f.apply(app.BlueprintOrganization{Quotas: own})
		for said, a := range send("one more") {
			a.is(f.T, http.StatusTooManyRequests)
			assert.Contains(f, a.text(), said[1:]) // Some begin with a capital letter.
			assert.NotContains(f, a.text(), "Please try again in a moment")
		}
	})
}

// TestContextLimit checks that a context that is too large for the organization stays in the form.
func TestContextLimit(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		b := f.as(f.operator("ada", users.RoleAdministrator))
		to, context := web+"e/tick/trigger/", `{"a": "`+strings.Repeat("x", 2_000)+`"}`
		checked := b.post(to, "context", context).is(f.T, http.StatusOK).confirmation()
		checked.Set("form_token", b.token())
		f.apply(app.BlueprintOrganization{Quotas: quotas.Limits{quotas.ContextSize: 1_024}})
		f.clock.Advance(time.Minute) // Limits are remembered for some seconds.
		for _, a := range []answer{b.post(to, "context", context), b.do(http.MethodPost, to+"send/", checked)} {
			a.is(f.T, http.StatusRequestEntityTooLarge)
			assert.Contains(f, a.text(), "The context is larger than 1024 bytes.")
			assert.Contains(f, html.UnescapeString(a.body), context)
			assert.Contains(f, a.text(), "Dry run")
		}
		assert.Empty(f, f.newest(1))
	})
}
