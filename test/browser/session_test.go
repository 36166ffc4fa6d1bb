package browser_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSigningIn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.tab()

	p.open("/console/o/acme/u/")
	assert.Equal(t, "Sign in", p.title(), "whoever is not signed in is asked to")

	p.forgive("401") // The browser notes it, and rightly.
	p.signIn(root, "a wrong password")
	assert.Equal(t, "Sign in", p.title())
	p.sees("This username and this password do not belong together.")
	p.seesNot("a wrong password")

	p.fill("Password", password) // The username is still there.
	p.goBy(button, "Sign in")
	assert.Equal(t, "/console/o/acme/u/", p.at(), "and then gets what they came for")
	p.sees("Your account: " + root)

	p.goBy(button, "Sign out")
	assert.Equal(t, "Sign in", p.title())
	p.open("/console/o/acme/u/")
	assert.Equal(t, "Sign in", p.title())
}
