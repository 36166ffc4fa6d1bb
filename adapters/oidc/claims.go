package oidc

import (
	"math"
	"strings"
	"time"

	"github.com/tocsin/tocsin/domain/signon"
	"github.com/tocsin/tocsin/domain/users"
)

// Limits on claims.
const (
	maxGroups  = 1000
	maxSession = 255
)

// claims are the claims of a token.
type claims map[string]any

func (c claims) has(name string) bool { _, there := c[name]; return there }

// text returns a claim that is a string; empty when it is not.
func (c claims) text(name string) string {
	s, is := c[name].(string)
	if !is {
		return ""
	}
	return strings.TrimSpace(s)
}

// verified reports whether the provider has verified the e-mail address. Some providers send a
// string.
func (c claims) verified() bool { return c["email_verified"] == true || c["email_verified"] == "true" }

// identity returns the identity in the claims.
func (p *Provider) identity(subject string, c claims) (signon.Identity, error) {
	i := signon.Identity{Subject: signon.Subject{Issuer: p.settings.Issuer, ID: subject}, Username: c.text(p.settings.UsernameClaim), Session: c.text("sid")}
	if p.settings.UsernameClaim == "email" && !c.verified() { // With an unverified address users could sign in as others.
		i.Username = ""
	}
	if len(i.Session) > maxSession {
		return signon.Identity{}, rejected("the name of the session is too long")
	}
	if seconds, is := c["auth_time"].(float64); is && seconds > 0 && seconds < math.MaxInt32*64 {
		i.Authenticated = time.Unix(int64(seconds), 0).UTC()
	}
	email := ""
	if c.verified() {
		email = c.text("email")
	}
	given := map[string]string{"email": email, "first_name": c.text("given_name"), "last_name": c.text("family_name")}
	if d, err := users.NewDetails(func(name string) string { return given[name] }); err == nil {
		i.Details = d
	}
	var err error
	i.Groups, err = c.groups(p.settings.GroupsClaim)
	return i, err
}

// groups returns the groups in a claim: a list of strings, or one string. A user without groups has
// no such claim.
func (c claims) groups(name string) ([]string, error) {
	if name == "" {
		return nil, nil
	}
	if elsewhere, is := c["_claim_names"].(map[string]any); is && !c.has(name) {
		if _, left := elsewhere[name]; left {
			return nil, rejected("the provider leaves the groups out because there are too many; have it send those alone that matter here")
		}
	}
	switch found := c[name].(type) {
	case nil:
		return nil, nil
	case string:
		return []string{found}, nil
	case []any:
		if len(found) > maxGroups {
			return nil, rejected("the provider names too many groups; have it send those alone that matter here")
		}
		var all []string
		for _, g := range found {
			if s, is := g.(string); is {
				all = append(all, s)
			}
		}
		return all, nil
	}
	return nil, rejected("the claim with the groups is no list of texts")
}
