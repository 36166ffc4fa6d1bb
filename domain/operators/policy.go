package operators

import "github.com/tocsin/tocsin/domain/names"

// Policy is how the installation lets users sign in. The zero value allows every way but single
// sign-on.
type Policy struct {
	Issuer           string // of the single sign-on provider; empty: there is no single sign-on
	SingleSignOnOnly bool
	BreakGlass       string // the username of the administrator of the installation who may always sign in with a password
}

// IsBreakGlassUsername reports whether a username is that of the emergency account, which single
// sign-on never opens.
func (p Policy) IsBreakGlassUsername(username string) bool {
	return p.BreakGlass != "" && names.Fold(username) == names.Fold(p.BreakGlass)
}

// AllowsPasswordOf reports whether a password for this username is checked.
func (p Policy) AllowsPasswordOf(username string) bool {
	return !p.SingleSignOnOnly || p.IsBreakGlassUsername(username)
}

// Allows reports whether a user who has signed in with this method may have a session of an
// account. Single sign-on opens an account as long as the provider of its identity is that of the
// settings. An account without a password takes single sign-on alone, so that nothing set up here
// opens it after the provider has closed it.
func (p Policy) Allows(a Account, m Method) bool {
	if m == BySingleSignOn {
		return p.Issuer != "" && a.Issuer == p.Issuer
	}
	return !a.SingleSignOnOnly() && (!p.SingleSignOnOnly || p.IsBreakGlass(a))
}

// IsBreakGlass reports whether this is the emergency account.
func (p Policy) IsBreakGlass(a Account) bool {
	return a.Administrator && a.Organization == 0 && p.IsBreakGlassUsername(a.User.Username)
}
