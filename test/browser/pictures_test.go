package browser_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// picturesVariable is the folder into which the pictures of the documentation go; `make screenshots` sets it.
const picturesVariable = "TOCSIN_TEST_SCREENSHOTS"

// largest is how many bytes a picture may have: each of them is loaded by whoever reads the documentation.
const largest = 150 << 10

// TestPictures takes the pictures that the documentation shows, wherever they go.
func TestPictures(t *testing.T) {
	t.Parallel()
	folder := os.Getenv(picturesVariable)
	if folder == "" {
		folder = t.TempDir()
	}
	w := newWorld(t)
	w.populate(60)
	w.remember()
	p := w.signedIn()
	take := func(name, scheme, path string) {
		t.Helper()
		p.prefer(scheme)
		p.open(path)
		ctx, cancel := context.WithTimeout(p.ctx, patience)
		defer cancel()
		picture, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
		require.NoError(t, err)
		assert.Less(t, len(picture), largest, name)
		require.NoError(t, os.WriteFile(filepath.Join(folder, name+".png"), picture, 0o644))
	}
	take("home", light, "/console/")
	take("organization", light, "/console/o/acme/")
	take("users", light, "/console/o/acme/u/")
	take("users-dark", dark, "/console/o/acme/u/")
	take("user", light, "/console/o/acme/u/1/")
	take("occurrence", light, "/console/o/acme/p/shop/a/web/occurrences/1/")
	take("occurrence-dark", dark, "/console/o/acme/p/shop/a/web/occurrences/1/")
	p.resize(phone)
	take("users-phone", light, "/console/o/acme/u/")
	take("occurrence-phone", light, "/console/o/acme/p/shop/a/web/occurrences/1/")
	p.resize(desk)
	take("audit", light, "/console/o/acme/audit/")
}
