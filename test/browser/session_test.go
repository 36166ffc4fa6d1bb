package browser_test

import (
	"strings"
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
	p.sees("Wrong username or password.")
	p.doesNotSee("a wrong password")

	p.fill("Password", password) // The username is still there.
	p.clickThrough(button, "Sign in")
	assert.Equal(t, "/console/o/acme/u/", p.at(), "and then gets what they came for")
	p.sees("Your account: " + root)

	p.clickThrough(button, "Sign out")
	assert.Equal(t, "Sign in", p.title())
	p.open("/console/o/acme/u/")
	assert.Equal(t, "Sign in", p.title())
}

func TestAnInvitedOperatorSignsIn(t *testing.T) {
	t.Parallel()
	each(t, func(w *world, p *tab) {
		w.populate(greeted)
		p.open("/console/o/acme/u/?q=grace")
		p.clickThrough(link, "Grace Hopper")
		p.clickThrough(link, "Role and signing in")
		p.choose("Role", "Operator")
		p.clickThrough(button, "Save")
		p.clickThrough(button, "Create link")
		invitation := ask[string](p, "document.querySelector('pre').innerText")
		p.clickThrough(button, "Sign out")

		p.open(strings.TrimPrefix(invitation, public))
		p.sees("Acme Inc. invites grace.hopper@example.com.")
		p.fill("New password", "short")
		p.fill("Repeat the new password", "short")
		p.forgive("400")
		p.clickThrough(button, "Set password")
		p.sees("There is 1 problem:")
		p.fill("New password", "nanoseconds of wire")
		p.fill("Repeat the new password", "nanoseconds of wire")
		p.clickThrough(button, "Set password")
		assert.Equal(t, "/console/o/acme/", p.at(), "she is signed in")
		p.sees("Your account: grace.hopper@example.com")
		p.menu("People")
		p.sees("Imports")
		p.menu("Settings")
		p.doesNotSee("Team", "Audit log") // An operator has no business there,
		p.forgive("403")
		p.open("/console/o/acme/keys/") // and gets nowhere by the path alone.
		p.doesNotSee("New API key")

		p.forgive("404")
		p.open(strings.TrimPrefix(invitation, public)) // It worked once.
		p.doesNotSee("Set password")
	})
}
