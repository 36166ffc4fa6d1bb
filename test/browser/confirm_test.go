package browser_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestConfirmOldSession(t *testing.T) {
	t.Parallel()
	withAndWithoutScripts(t, func(w *world, p *tab) {
		p.setCookie(w.sessionSince(time.Now().Add(-time.Hour)))
		p.open("/console/o/acme/keys/")
		p.fill("Name", "shop front")
		p.tick("Read distribution lists (distributionlist:read)")
		p.expectComplaint("401")
		p.clickThrough(button, "Create the key")
		assert.Equal(p, "Sign in again", p.title())
		p.sees("You signed in more than 10 minutes ago.")
		p.expectComplaint("401")
		p.fill("Password", "a wrong password")
		p.clickThrough(button, "Continue")
		p.sees("is not your password")
		p.doesNotSee("a wrong password")
		p.fill("Password", password)
		p.clickThrough(button, "Continue")
		p.sees("The key is shown only now.", "shop front")
		p.open("/console/o/acme/keys/")
		p.fill("Name", "another one")
		p.tick("Read distribution lists (distributionlist:read)")
		p.clickThrough(button, "Create the key")
		p.sees("The key is shown only now.")
	})
}
