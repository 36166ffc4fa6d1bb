package browser_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestKeyIsShownOnce(t *testing.T) {
	t.Parallel()
	withAndWithoutScripts(t, func(w *world, p *tab) {
		p.clickThrough(link, "Acme Inc.")
		p.menu("Settings", "API keys")
		p.fill("Name", "shop front")
		p.fill("Limited to the project", "shop")
		p.tick("Read distribution lists (distributionlist:read)")
		p.choose("Valid", "90 days")
		p.clickThrough(button, "Create the key")
		p.sees("The key is shown only now.")
		first := eval[string](p, "document.querySelector('.secret').innerText")
		w.key = first
		w.call(http.MethodGet, "o/acme/p/shop/d/", nil, nil)

		p.expectComplaint("400") // The form is sent again, and the name is taken now.
		p.reload()
		assert.NotContains(t, eval[string](p, "document.documentElement.outerHTML"), first, "it is gone after a reload")
		p.open("/console/o/acme/keys/")
		p.sees("shop front")
		assert.NotContains(t, eval[string](p, "document.documentElement.outerHTML"), first)

		p.unfold("Change shop front")
		p.clickThrough(button, "Rotate shop front")
		second := eval[string](p, "document.querySelector('.secret').innerText")
		require.NotEqual(t, first, second)
		for _, key := range []string{first, second} { // Both are valid for a while.
			w.key = key
			w.call(http.MethodGet, "o/acme/p/shop/d/", nil, nil)
		}
		p.clickThrough(link, "Done")
		p.menu("Settings", "Audit log")
		p.sees("key.create", "key.rotate")
		assert.NotContains(t, eval[string](p, "document.documentElement.outerHTML"), second)
	})
}
