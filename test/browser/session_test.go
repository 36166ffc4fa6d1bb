package browser_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSignIn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.tab()

	p.open("/console/o/acme/u/")
	assert.Equal(t, "Sign in", p.title(), "whoever is not signed in is asked to")

	p.expectComplaint("401") // The browser reports the response.
	p.signIn(root, "a wrong password")
	assert.Equal(t, "Sign in", p.title())
	p.sees("Wrong username or password.")
	p.doesNotSee("a wrong password")

	p.fill("Password", password) // The username is kept.
	p.clickThrough(button, "Sign in")
	assert.Equal(t, "/console/o/acme/u/", p.path(), "and then gets what they came for")
	p.sees("Your account: " + root)

	p.clickThrough(button, "Sign out")
	assert.Equal(t, "Sign in", p.title())
	p.open("/console/o/acme/u/")
	assert.Equal(t, "Sign in", p.title())
}

func TestInvitedOperatorSignsIn(t *testing.T) {
	t.Parallel()
	withAndWithoutScripts(t, func(w *world, p *tab) {
		w.populate(customers)
		p.open("/console/o/acme/u/?q=grace")
		p.clickThrough(link, "Grace Hopper")
		p.clickThrough(link, "Role and signing in")
		p.choose("Role", "Operator")
		p.clickThrough(button, "Save")
		p.clickThrough(button, "Create link")
		invitation := eval[string](p, "document.querySelector('pre').innerText")
		p.clickThrough(button, "Sign out")

		p.open(strings.TrimPrefix(invitation, public))
		p.sees("Acme Inc. invites grace.hopper@example.com.")
		p.fill("New password", "short")
		p.fill("Repeat the new password", "short")
		p.expectComplaint("400")
		p.clickThrough(button, "Set password")
		p.sees("There is 1 problem:")
		p.fill("New password", "nanoseconds of wire")
		p.fill("Repeat the new password", "nanoseconds of wire")
		p.clickThrough(button, "Set password")
		assert.Equal(t, "/console/o/acme/", p.path(), "she is signed in")
		p.sees("Your account: grace.hopper@example.com")
		p.menu("People")
		p.sees("Imports")
		p.menu("Settings")
		p.doesNotSee("Team", "Audit log") // An operator may not use these,
		p.expectComplaint("403")
		p.open("/console/o/acme/keys/") // nor open their paths.
		p.doesNotSee("New API key")

		p.expectComplaint("404")
		p.open(strings.TrimPrefix(invitation, public)) // The link works once.
		p.doesNotSee("Set password")
	})
}
