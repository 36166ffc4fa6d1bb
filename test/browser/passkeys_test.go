package browser_test

import (
	"context"
	"io"
	"log"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/webauthn"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// newSite returns a world whose base URL is the address that browsers use, as passkeys require. The
// settings are added to the usual ones.
func newSite(t *testing.T, settings ...string) *world {
	t.Helper()
	behind := &url.URL{Scheme: "http"}
	front := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(behind)
		r.Out.Host = r.In.Host
	}, ErrorLog: log.New(io.Discard, "", 0)}) // Browsers cancel requests that they no longer need.
	t.Cleanup(front.Close)
	site := strings.Replace(front.URL, "127.0.0.1", "localhost", 1)
	w := newWorldAt(t, site, settings...)
	behind.Host = strings.TrimPrefix(w.base, "http://")
	w.base = site
	return w
}

// authenticator is a virtual authenticator of a tab whose user confirms everything.
type authenticator struct {
	*tab
	id webauthn.AuthenticatorID
}

// authenticator adds an authenticator that waits until the page asks it.
func (t *tab) authenticator() authenticator {
	t.Helper()
	t.steps(chromedp.Func(func(ctx context.Context, to *chromedp.Target) error {
		_, err := cdp.Call(ctx, to, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{
			Source: "PublicKeyCredential.isConditionalMediationAvailable = async () => false",
		})
		return err
	}))
	return t.autofillAuthenticator()
}

// autofillAuthenticator adds an authenticator that also answers where browsers offer passkeys while
// a username is typed.
func (t *tab) autofillAuthenticator() authenticator {
	t.Helper()
	k := authenticator{tab: t}
	t.steps(do(webauthn.Enable, webauthn.EnableParams{}), chromedp.Func(func(ctx context.Context, to *chromedp.Target) error {
		added, err := cdp.Call(ctx, to, webauthn.AddVirtualAuthenticator, webauthn.AddVirtualAuthenticatorParams{Options: &webauthn.VirtualAuthenticatorOptions{
			Protocol: webauthn.AuthenticatorProtocolCtap2, Transport: webauthn.AuthenticatorTransportInternal, HasResidentKey: true,
			HasUserVerification: true, IsUserVerified: true, AutomaticPresenceSimulation: true, HasCmtgKey: true, // Without it no passkey can be added, because cdproto always sends these keys.
		}})
		if err == nil {
			k.id = added.AuthenticatorID
		}
		return err
	}))
	return k
}

// credentials returns the passkeys of the authenticator.
func (k authenticator) credentials() (all []*webauthn.Credential) {
	k.Helper()
	k.steps(chromedp.Func(func(ctx context.Context, to *chromedp.Target) error {
		found, err := cdp.Call(ctx, to, webauthn.GetCredentials, webauthn.GetCredentialsParams{AuthenticatorID: k.id})
		if err == nil {
			all = found.Credentials
		}
		return err
	}))
	return all
}

// addCredential adds a passkey to the authenticator.
func (k authenticator) addCredential(key *webauthn.Credential) {
	k.Helper()
	k.steps(do(webauthn.AddCredential, webauthn.AddCredentialParams{AuthenticatorID: k.id, Credential: key}))
}

// addPasskey adds the first passkey to the account that is signed in.
func (t *tab) addPasskey(name string) {
	t.Helper()
	t.open("/console/account/second-factor/")
	t.clickThrough(button, "Add a passkey")
	t.fill("Name", name)
	t.clickThrough(button, "Add the passkey")
	t.sees("These codes are shown only now.")
	t.clickThrough(link, "Done")
	t.sees(name)
}

func TestSignInWithPasskey(t *testing.T) {
	t.Parallel()
	w := newSite(t)
	p := w.signedIn()
	k := p.authenticator()
	p.addPasskey("Telephone")
	p.clickThrough(button, "Sign out")
	p.clickThrough(button, "Sign in with a passkey")
	p.sees("Your account: " + root)

	p.clickThrough(button, "Sign out")
	p.signIn(root, password)
	p.sees("The password for " + root + " is correct.")
	p.clickThrough(button, "Use a passkey")
	p.sees("Your account: " + root)

	p.open("/console/account/second-factor/")
	p.unfold("Rename or remove Telephone")
	p.fill("Name", "Laptop")
	p.clickThrough(button, "Rename")
	p.sees("Laptop")
	p.unfold("Rename or remove Laptop")
	p.clickThrough(button, "Remove Laptop")
	p.sees("Second factor removed.")
	p.clickThrough(button, "Sign out")
	assert.Len(p, k.credentials(), 1, "the authenticator still keeps it")
	p.expectComplaint("401")
	p.clickThrough(button, "Sign in with a passkey")
	p.sees("The passkey was not accepted")
	p.signIn(root, password)
	p.sees("Your account: " + root)
}

func TestConfirmWithPasskey(t *testing.T) {
	t.Parallel()
	w := newSite(t)
	p := w.signedIn()
	p.authenticator()
	p.addPasskey("Telephone")
	p.setCookie(w.sessionSince(time.Now().Add(-time.Hour)))
	p.open("/console/o/acme/keys/")
	p.fill("Name", "shop front")
	p.tick("Read distribution lists (distributionlist:read)")
	p.expectComplaint("401")
	p.clickThrough(button, "Create the key")
	assert.Equal(p, "Sign in again", p.title())
	p.clickThrough(button, "Use a passkey")
	p.sees("The key is shown only now.", "shop front")
}

func TestPasskeyOpensOnlyItsAccount(t *testing.T) {
	t.Parallel()
	w := newSite(t)
	w.run(password+"\n", "admin", "create", "--username", "eve", "--password-stdin")
	p := w.signedIn()
	ofRoot := p.authenticator()
	p.addPasskey("Telephone")

	q := w.tab()
	ofEve := q.authenticator()
	q.open("/console/")
	q.signIn("eve", password)
	q.addPasskey("Laptop")
	q.clickThrough(button, "Sign out")
	q.clickThrough(button, "Sign in with a passkey")
	q.sees("Your account: eve")
	q.clickThrough(button, "Sign out")

	theirs := ofRoot.credentials()
	require.Len(t, theirs, 1)
	forged := *theirs[0]
	forged.PrivateKey, forged.CmtgKeys, forged.ActiveCmtgKeyIndex = ofEve.credentials()[0].PrivateKey, nil, nil
	ofEve.addCredential(&forged)
	q.signIn(root, password)
	q.expectComplaint("400")
	q.clickThrough(button, "Use a passkey")
	q.sees("The passkey was not accepted")
	q.doesNotSee("Your account")
}

func TestPasskeyAutofill(t *testing.T) {
	t.Parallel()
	p := newSite(t).signedIn()
	p.autofillAuthenticator()
	p.addPasskey("Telephone")
	p.clickThrough(button, "Sign out")
	p.awaits("Your account: " + root)
}

func TestFactorsWithoutScripts(t *testing.T) {
	t.Parallel()
	w := newSite(t)
	p := w.tab()
	p.withoutScripts()
	p.open("/console/")
	p.sees("Passkeys need JavaScript, which is off in this browser.")
	p.signIn(root, password)
	p.open("/console/account/second-factor/")
	p.sees("Passkeys need JavaScript, which is off in this browser.", "Set up an authenticator app")
}

func TestPasskeysNeedTheirAddress(t *testing.T) {
	t.Parallel()
	w := newSite(t)
	w.base = strings.Replace(w.base, "localhost", "127.0.0.1", 1)
	p := w.tab()
	p.open("/console/")
	p.sees("Passkeys work at http://localhost:")
	p.signIn(root, password)
	p.sees("Your account: " + root)
}

func TestMissingSecondFactorRedirects(t *testing.T) {
	t.Parallel()
	w := newSite(t)
	p := w.signedIn()
	p.authenticator()
	p.open("/console/o/acme/projects/")
	p.clickThrough(button, "Require a second factor")
	p.sees("Acme Inc. requires a second factor. Set one up before you go on.")
	p.open("/console/o/acme/u/")
	p.sees("Acme Inc. requires a second factor. Set one up before you go on.")
	p.addPasskey("Telephone")
	p.doesNotSee("Set one up before you go on.")
	p.open("/console/o/acme/projects/")
	p.sees("Everyone with a role in this organization needs a second factor to open it.")
	p.clickThrough(button, "Stop requiring it")
	p.sees("Those who have set up a second factor sign in with it.")
}
