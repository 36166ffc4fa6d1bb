package browser_test

import (
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
)

// from makes the client use another address of this machine.
func (r *pageClient) from(address string) *pageClient {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	r.Transport = &http.Transport{DialContext: dialer.DialContext}
	r.w.Cleanup(r.CloseIdleConnections)
	return r
}

// isSignedIn reports whether the client is signed in.
func (r *pageClient) isSignedIn() bool {
	r.w.Helper()
	return r.read("/console/account/", nil).url.Path == "/console/account/"
}

func TestOwnPasswordAndSessions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.signedIn()
	p.open("/console/")
	const another = "battery staple horse"
	elsewhere := w.pageClient()
	elsewhere.signIn(root, password)
	p.clickThrough(link, "Your account: "+root)
	change := func(current string) {
		p.fill("Current password", current)
		p.fill("New password", another)
		p.fill("Repeat the new password", another)
		p.clickThrough(button, "Change password")
	}
	p.expectComplaint("400")
	change("not the password")
	p.sees("is not your password")
	p.doesNotSee("not the password")
	assert.True(p, elsewhere.isSignedIn())
	change(password)
	p.sees("Password changed. Your other sessions have ended.")
	assert.False(p, elsewhere.isSignedIn(), "sessions elsewhere end with another password")

	elsewhere.from("127.0.0.2").signIn(root, another)
	p.reload()
	p.clickThrough(button, p.fullName(button, "End the session from 127.0.0.2"))
	p.sees("Session ended.")
	assert.False(p, elsewhere.isSignedIn())

	elsewhere.signIn(root, another)
	p.clickThrough(button, "Sign out")
	assert.Equal(p, "Sign in", p.title())
	assert.False(p, elsewhere.isSignedIn())
	p.open("/console/account/")
	assert.Equal(p, "Sign in", p.title())
	p.signIn(root, another)
	p.sees("Where you are signed in")
	p.clickThrough(link, "Tocsin")
	p.menu("Installation's audit log")
	p.sees("account.password", "account.end_session", "account.sign_out_everywhere", "127.0.0.2")
}
