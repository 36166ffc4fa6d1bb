package browser_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// badPage has all the problems that pages must not have.
const badPage = `<!DOCTYPE html><html lang="en"><head><title>Bad</title><link rel="icon" href="/icon.svg"><link rel="stylesheet" href="http://127.0.0.1:9/other.css">
<style>p { color: #ccc } #narrow { color: #ddd; display: none } @media (max-width: 400px) { #narrow { display: block } }</style><script>var n = 1</script></head>
<body><main><h1>Bad</h1><p>Pale<img src="/missing.png"><div id="wide">Wide</div><div id="narrow">Narrow</div></main></body></html>`

// TestWatch shows that the checks of this package can fail.
func TestWatch(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
		case "/icon.svg":
			w.Header().Set("Content-Type", "image/svg+xml")
			_, _ = fmt.Fprint(w, `<svg xmlns="http://www.w3.org/2000/svg"/>`) // The browser may have closed the connection.
			return
		default:
			http.NotFound(w, r)
			return
		}
		if r.URL.RawQuery == "strict" {
			w.Header().Set("Content-Security-Policy", "default-src 'self'")
		}
		_, _ = fmt.Fprint(w, badPage) // The browser may have closed the connection.
	}))
	t.Cleanup(server.Close)

	t.Run("Complaints", func(t *testing.T) {
		t.Parallel()
		p := newTab(t, server.URL)
		for _, words := range []string{
			"a request to elsewhere", "Loading the stylesheet", "Applying inline style", "Executing inline script", // violations of the policy
			"/missing.png", "a request failed:  csp", `console.error: "a fault"`, "exception: Error: nobody catches it",
		} {
			p.expectComplaint(words)
		}
		p.open("/?strict")
		eval[bool](p, "console.error('a fault'), setTimeout(() => { throw new Error('nobody catches it') }), true")
		p.eventually(func() bool { return p.hasComplaint("nobody catches it") }, "the browser keeps an exception to itself")
	})
	for name, scripts := range map[string]bool{"Pages": true, "PagesWithoutScripts": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newTab(t, server.URL)
			other := dark
			if !scripts {
				p.withoutScripts()
				other = light
			}
			for _, words := range []string{"/missing.png", "a request to elsewhere", "a request failed: net::ERR_UNSAFE_PORT", "/other.css"} {
				p.expectComplaint(words)
			}
			p.open("/")
			found, err := p.violationsInBothSchemes()
			require.NoError(t, err)
			var told []string
			for _, v := range found {
				if v.ID == "image-alt" || v.ID == "color-contrast" {
					told = append(told, v.ID+": "+v.Help)
				}
			}
			require.Len(t, told, 3)
			assert.Contains(t, told[2], "color-contrast")
			assert.Contains(t, told[2], "(in "+other+")")
			eval[bool](p, recordShown)
			p.resize(phone)
			found, err = p.resizedViolations()
			require.NoError(t, err)
			found = slices.DeleteFunc(found, func(v violation) bool { return v.ID != "color-contrast" })
			require.Len(t, found, 1)
			require.Len(t, found[0].Nodes, 1)
			assert.Contains(t, found[0].Nodes[0].HTML, "Narrow")
			p.resize(desk)
			if !scripts { // Without scripts, no event says that the page was drawn.
				return
			}
			assert.Empty(t, p.overflow())
			eval[string](p, "document.querySelector('#wide').style.width = '3000px'")
			assert.Len(t, p.overflow(), 1)
		})
	}
}
