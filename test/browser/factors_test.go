package browser_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// codeAfter returns the code that an authenticator app shows n codes from now. A code works once,
// and the next code is already valid.
func codeAfter(t testing.TB, secret string, ahead int) string {
	t.Helper()
	code, err := totp.GenerateCode(strings.ReplaceAll(secret, " ", ""), time.Now().Add(time.Duration(ahead)*30*time.Second))
	require.NoError(t, err)
	return code
}

func TestSignInWithAuthenticatorApp(t *testing.T) {
	t.Parallel()
	withAndWithoutScripts(t, func(_ *world, p *tab) {
		p.open("/console/account/")
		p.clickThrough(link, "Second factor")
		p.sees("So far your password alone is enough to sign in.")
		p.clickThrough(button, "Set up an authenticator app")
		p.find("QR code with the setup key", "image", "img")
		secret := eval[string](p, "document.querySelector('#secret').innerText")
		p.fill("Code", "000000")
		p.expectComplaint("400")
		p.clickThrough(button, "Confirm")
		p.sees("is not valid, or was already used")
		assert.Equal(p, secret, eval[string](p, "document.querySelector('#secret').innerText"), "whoever mistypes keeps the secret")
		p.fill("Code", codeAfter(p, secret, 0))
		p.clickThrough(button, "Confirm")
		p.sees("These codes are shown only now.")
		codes := strings.Fields(eval[string](p, "document.querySelector('#codes').innerText"))
		require.Len(p, codes, 10)
		p.clickThrough(link, "Done")
		p.sees("Recovery codes left: 10.")

		for _, code := range []func() string{func() string { return codeAfter(p, secret, 1) }, func() string { return codes[0] }} {
			p.clickThrough(button, "Sign out")
			p.signIn(root, password)
			p.sees("The password for " + root + " is correct.")
			p.open("/console/")
			assert.Equal(p, "Sign in", p.title(), "the password alone opens nothing")
			p.signIn(root, password)
			p.expectComplaint("400")
			p.fill("Code", "000000")
			p.clickThrough(button, "Continue")
			p.sees("is not valid, or was already used")
			p.fill("Code", code())
			p.clickThrough(button, "Continue")
			p.sees("Your account: " + root)
		}
		p.open("/console/account/second-factor/")
		p.sees("Recovery codes left: 9.")
		p.unfold("Remove the authenticator app")
		p.clickThrough(button, "Remove the app")
		p.sees("Second factor removed.")
		p.clickThrough(button, "Sign out")
		p.signIn(root, password)
		p.sees("Your account: " + root)
	})
}
