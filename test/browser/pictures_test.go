package browser_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// picturesVariable is the folder into which the pictures of the documentation go; `make
// screenshots` sets it.
const picturesVariable = "TOCSIN_TEST_SCREENSHOTS"

// tallWindow has room for the editor of a template and its preview.
var tallWindow = size{1280, 1000}

// maxPictureSize is the maximum size of a picture in bytes, because every reader of the
// documentation loads all of them.
const maxPictureSize = 160 << 10

// TestPictures takes the screenshots of the documentation.
func TestPictures(t *testing.T) {
	t.Parallel()
	folder := os.Getenv(picturesVariable)
	if folder == "" {
		folder = t.TempDir()
	}
	w := newWorld(t)
	w.populate(60)
	w.addStatistics()
	w.checkedImport("people.csv", mixedFile)
	p := w.signedIn()
	capture := func(name string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(p.ctx, timeout)
		defer cancel()
		picture, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
		require.NoError(t, err)
		assert.Less(t, len(picture), maxPictureSize, name)
		require.NoError(t, os.WriteFile(filepath.Join(folder, name+".png"), picture, 0o644))
	}
	take := func(name, scheme, path string) {
		t.Helper()
		p.setColorScheme(scheme)
		p.open(path)
		capture(name)
	}
	take("overview", light, "/console/o/acme/")
	take("overview-dark", dark, "/console/o/acme/")
	take("users", light, "/console/o/acme/u/")
	take("import", light, "/console/o/acme/imports/2/")
	p.open("/console/o/acme/p/shop/a/web/e/order-shipped/t/1/?user=ada.lovelace@example.com")
	p.fill("Example context", `{"order": "A-1017", "carrier": "DHL", "tracking_url": "https://track.example/A-1017", "items": [{"quantity": 1, "name": "Bell"}]}`)
	p.sees("Your order A-1017 is on its way")
	p.eventually(func() bool { return strings.Contains(p.frame(), "1 × Bell") }, "the frame does not show what is typed")
	p.resize(tallWindow)
	eval[bool](p, "document.activeElement.blur(), document.querySelector('#editor').scrollIntoView(), true")
	capture("template")
	p.resetForms()
	p.resize(desk)
	take("occurrence", light, "/console/o/acme/p/shop/a/web/occurrences/1/")
	take("occurrence-dark", dark, "/console/o/acme/p/shop/a/web/occurrences/1/")
	take("audit", light, "/console/o/acme/audit/")
	p.resize(phone)
	take("users-phone", light, "/console/o/acme/u/")
}
