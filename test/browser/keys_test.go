package browser_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAnAPIKeyIsShownOnce(t *testing.T) {
	t.Parallel()
	each(t, func(w *world, p *tab) {
		p.clickThrough(link, "Acme Inc.")
		p.menu("Settings", "API keys")
		p.fill("Name", "shop front")
		p.fill("Limited to the project", "shop")
		p.tick("Read distribution lists (distributionlist:read)")
		p.choose("Valid", "90 days")
		p.clickThrough(button, "Create the key")
		p.sees("The key is shown only now.")
		first := ask[string](p, "document.querySelector('.secret').innerText")
		w.key = first
		w.call(http.MethodGet, "o/acme/p/shop/d/", nil, nil)

		p.forgive("400") // The form is sent once more, and there is a key of this name now.
		p.reload()
		assert.NotContains(t, ask[string](p, "document.documentElement.outerHTML"), first, "it is gone after a reload")
		p.open("/console/o/acme/keys/")
		p.sees("shop front")
		assert.NotContains(t, ask[string](p, "document.documentElement.outerHTML"), first)

		p.unfold("Change shop front")
		p.clickThrough(button, "Rotate shop front")
		second := ask[string](p, "document.querySelector('.secret').innerText")
		require.NotEqual(t, first, second)
		for _, key := range []string{first, second} { // For a while both are valid.
			w.key = key
			w.call(http.MethodGet, "o/acme/p/shop/d/", nil, nil)
		}
		p.clickThrough(link, "Done")
		p.menu("Settings", "Audit log")
		p.sees("key.create", "key.rotate")
		assert.NotContains(t, ask[string](p, "document.documentElement.outerHTML"), second)
	})
}
