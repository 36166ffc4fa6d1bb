package operators

import "github.com/tocsin/tocsin/domain/names"

// Policy is how the installation lets people sign in. The zero value is in every way.
type Policy struct {
	SingleSignOnOnly bool
	BreakGlass       string // the username of the administrator of the installation who may sign in with a password all the same
}

// Reserves reports whether a username is that of the emergency account, which single sign-on never
// opens.
func (p Policy) Reserves(username string) bool {
	return p.BreakGlass != "" && names.Fold(username) == names.Fold(p.BreakGlass)
}

// TakesPasswordOf reports whether a password of somebody with this username is looked at.
func (p Policy) TakesPasswordOf(username string) bool {
	return !p.SingleSignOnOnly || p.Reserves(username)
}

// Admits reports whether somebody may have a session of an account who has shown in this way who
// they are. An account without a password takes single sign-on alone, so that nothing set up here
// opens it when the provider does not any more.
func (p Policy) Admits(a Account, m Method) bool {
	if m == BySingleSignOn {
		return true
	}
	return !a.SignOnAlone() && (!p.SingleSignOnOnly || p.IsBreakGlass(a))
}

// IsBreakGlass reports whether this is the emergency account.
func (p Policy) IsBreakGlass(a Account) bool {
	return a.Administrator && a.Organization == 0 && p.Reserves(a.User.Username)
}
