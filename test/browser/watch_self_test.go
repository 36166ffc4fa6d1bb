package browser_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
)

// bad is a page with everything that pages must not have. Its policy is the strictest of all.
const bad = `<!DOCTYPE html><html lang="en"><head><title>Bad</title><link rel="icon" href="/icon.svg"><link rel="stylesheet" href="http://127.0.0.1:9/other.css">
<style>p { color: #ccc }</style><script>var n = 1</script></head>
<body><main><h1>Bad</h1><p>Pale<img src="/missing.png"><div id="wide">Wide</div></main></body></html>`

// TestWhatIsWatchedForIsSeen shows that each of the tests of this package can fail.
func TestWhatIsWatchedForIsSeen(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
		case "/icon.svg":
			w.Header().Set("Content-Type", "image/svg+xml")
			_, _ = fmt.Fprint(w, `<svg xmlns="http://www.w3.org/2000/svg"/>`) // Who has gone does not read it.
			return
		default:
			http.NotFound(w, r)
			return
		}
		if r.URL.RawQuery == "strict" {
			w.Header().Set("Content-Security-Policy", "default-src 'self'")
		}
		_, _ = fmt.Fprint(w, bad) // Who has gone does not read it.
	}))
	t.Cleanup(server.Close)

	t.Run("Complaints", func(t *testing.T) {
		t.Parallel()
		p := newTab(t, server.URL)
		for _, words := range []string{
			"a request to elsewhere", "Loading the stylesheet", "Applying inline style", "Executing inline script", // by the policy
			"/missing.png", "a request failed:  csp", `console.error: "a fault"`, "exception: Error: nobody catches it",
		} {
			p.forgive(words)
		}
		p.open("/?strict")
		ask[bool](p, "console.error('a fault'), setTimeout(() => { throw new Error('nobody catches it') }), true")
		p.eventually(func() bool { return p.heard("nobody catches it") }, "the browser keeps an exception to itself")
	})
	t.Run("Pages", func(t *testing.T) {
		t.Parallel()
		p := newTab(t, server.URL)
		for _, words := range []string{"/missing.png", "a request to elsewhere", "a request failed: net::ERR_UNSAFE_PORT", "/other.css"} {
			p.forgive(words)
		}
		p.open("/")
		var ids []string
		for _, v := range p.violations() {
			ids = append(ids, v.ID)
		}
		assert.Subset(t, ids, []string{"image-alt", "color-contrast"})
		assert.Empty(t, p.overflow())
		ask[string](p, "document.querySelector('#wide').style.width = '3000px'")
		assert.Len(t, p.overflow(), 1)
	})
}
