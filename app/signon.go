package app

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"time"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/factors"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/signon"
	"github.com/tocsin/tocsin/ports"
)

// SignOnSettings are the installation's settings for single sign-on.
type SignOnSettings struct {
	Mapping signon.Mapping
	Label   string // of the button
}

// SingleSignOn is signing in and out with an identity provider.
type SingleSignOn struct {
	operators *Operators
	store     ports.Store
	clock     ports.Clock
	provider  signon.Provider
	settings  SignOnSettings
}

// NewSingleSignOn returns the use cases of single sign-on. Without a provider it is off.
func NewSingleSignOn(o *Operators, p signon.Provider, s SignOnSettings) *SingleSignOn {
	return &SingleSignOn{operators: o, store: o.store, clock: o.clock, provider: p, settings: s}
}

// SignInOptions are the ways to sign in.
type SignInOptions struct {
	SingleSignOn string // the label of the button; empty: no single sign-on
	Only         bool   // all but the emergency account must use single sign-on
}

// Options returns the ways to sign in.
func (s *SingleSignOn) Options() SignInOptions {
	if s.provider == nil {
		return SignInOptions{}
	}
	return SignInOptions{SingleSignOn: s.settings.Label, Only: s.operators.policy.SingleSignOnOnly}
}

// PendingForm is a form that waits until its sender has signed in again at the provider.
type PendingForm struct {
	Path   string // where it goes
	Sealed string
}

// SavePendingForm stores a form of the signed-in user for as long as a step takes, in place of an
// earlier one, and returns the token for Begin.
func (s *SingleSignOn) SavePendingForm(ctx context.Context, v operators.Principal, form PendingForm) (token string, err error) {
	kept, err := json.Marshal(form)
	if err != nil {
		return "", err
	}
	now := s.clock.Now()
	step, token := factors.NewStep(factors.PendingForm, v.Account, kept, now)
	return token, s.store.Update(ctx, func(tx ports.Tx) error {
		return errors.Join(tx.Factors().Sweep(ctx, now), tx.Factors().EndSteps(ctx, v.Account, factors.PendingForm), tx.Factors().Begin(ctx, step))
	})
}

// authorization is stored while a user signs in at the provider.
type authorization struct {
	State    string    `json:"state"`
	Return   string    `json:"return"`
	Next     string    `json:"next"`
	Sent     time.Time `json:"sent"`
	Form     string    `json:"draft,omitempty"` // the token of the form that waits for a user who signs in again
	Provider []byte    `json:"provider"`
}

func (a authorization) request() signon.AuthRequest {
	return signon.AuthRequest{RedirectURI: a.Return, State: a.State, Reauthenticate: a.Form != ""}
}

// SignOnRedirect is the provider's address for a browser, and the step that the browser keeps until
// it returns.
type SignOnRedirect struct {
	Address string
	Step    string
}

// Begin sends a user to the provider, which redirects them to the URL back; from there they get to
// the page next. With the token of a form, a signed-in user confirms their identity. signon.ErrOff,
// signon.ErrUnavailable, factors.ErrStep for the form of another user.
func (s *SingleSignOn) Begin(ctx context.Context, v operators.Principal, back, next, form string) (d SignOnRedirect, err error) {
	if s.provider == nil {
		return SignOnRedirect{}, signon.ErrOff
	}
	now := s.clock.Now()
	if form != "" {
		if _, err := s.form(ctx, v.Account, form); err != nil {
			return SignOnRedirect{}, err
		}
	}
	a := authorization{State: operators.NewToken(), Return: back, Next: next, Sent: now, Form: form}
	if d.Address, a.Provider, err = s.provider.Begin(ctx, a.request()); err != nil {
		return SignOnRedirect{}, err
	}
	kept, err := json.Marshal(a)
	if err != nil {
		return SignOnRedirect{}, err
	}
	step, token := factors.NewStep(factors.SingleSignOn, 0, kept, now)
	d.Step = token
	return d, s.store.Update(ctx, func(tx ports.Tx) error {
		return errors.Join(tx.Factors().Sweep(ctx, now), tx.Factors().Begin(ctx, step))
	})
}

// form finds the form that waits for the holder of an account; factors.ErrStep.
func (s *SingleSignOn) form(ctx context.Context, of operators.AccountID, token string) (form PendingForm, err error) {
	digest, err := operators.ParseToken(token)
	if err != nil {
		return PendingForm{}, factors.ErrStep
	}
	return ports.View(ctx, s.store, func(tx ports.Tx) (form PendingForm, err error) {
		step, err := tx.Factors().Step(ctx, digest)
		if err != nil {
			return form, err
		}
		if !step.For(factors.PendingForm, s.clock.Now()) || step.Account != of {
			return form, factors.ErrStep
		}
		err = json.Unmarshal(step.Data, &form)
		return form, err
	})
}

// SignOnCallback is the request of a browser that returns from the provider.
type SignOnCallback struct {
	Step    string // that it kept
	Session string // the token of its session, if any
	State   string
	Code    string
	Issuer  string // from the answer; empty: none
	Refused string // the provider's reason for a refusal; empty: none
}

// SignOnResult is the result of a sign-in at the provider.
type SignOnResult struct {
	SignInResult              // of a user who signs in
	Next         string       // the page that they wanted
	Form         *PendingForm // the form of a user who has signed in again
}

// Finish ends what Begin began: it begins a session of the account that the identity opens, which
// is created if there is none, or records that a signed-in user has confirmed their identity.
// Refusals are in the audit log. signon.ErrUnavailable, and every refusal of package signon.
func (s *SingleSignOn) Finish(ctx context.Context, by audit.Actor, from operators.Origin, r SignOnCallback) (done SignOnResult, err error) {
	if s.provider == nil {
		return SignOnResult{}, signon.ErrOff
	}
	a, err := s.takeStep(ctx, r)
	if errors.Is(err, factors.ErrStep) {
		return SignOnResult{}, signon.ErrBrowser
	}
	if err != nil {
		return SignOnResult{}, err
	}
	var i signon.Identity
	switch {
	case subtle.ConstantTimeCompare([]byte(r.State), []byte(a.State)) != 1:
		err = signon.ErrBrowser
	case r.Refused != "" || r.Code == "":
		err = signon.ErrRefused
	default:
		i, err = s.provider.Finish(ctx, a.request(), a.Provider, r.Code, r.Issuer)
	}
	done.Next = a.Next
	if err == nil && a.Form != "" {
		done.Form, err = s.reauthenticate(ctx, by, r, a, i)
	} else if err == nil {
		done.SignInResult, err = s.signIn(ctx, by, from, i)
	}
	return done, s.refuse(ctx, by, i, err)
}

// takeStep ends the step of a browser, which happens once, and returns what was stored;
// factors.ErrStep.
func (s *SingleSignOn) takeStep(ctx context.Context, r SignOnCallback) (a authorization, err error) {
	digest, err := operators.ParseToken(r.Step)
	if err != nil {
		return authorization{}, factors.ErrStep
	}
	return ports.Update(ctx, s.store, func(tx ports.Tx) (a authorization, err error) {
		step, err := tx.Factors().Step(ctx, digest)
		if err != nil {
			return a, err
		}
		first, err := tx.Factors().End(ctx, digest)
		if err != nil {
			return a, err
		}
		if !first || !step.For(factors.SingleSignOn, s.clock.Now()) {
			return a, factors.ErrStep
		}
		err = json.Unmarshal(step.Data, &a)
		return a, err
	})
}

// refuse records why a user was not let in, and returns the reason. A reason that is no refusal is
// not recorded.
func (s *SingleSignOn) refuse(ctx context.Context, by audit.Actor, i signon.Identity, why error) error {
	if fault.KindOf(why) != fault.Forbidden {
		return why
	}
	after := audit.State{"method": string(operators.BySingleSignOn), "reason": why.Error()}
	if i.ID != "" {
		after["issuer"], after["subject"] = i.Issuer, i.ID
	}
	if by.Name == "" {
		by.Name = i.Username
	}
	err := s.store.Update(ctx, func(tx ports.Tx) error {
		return tx.Audit().Record(ctx, audit.Entry{Actor: by, At: s.clock.Now(), Action: audit.SignInRefused, Object: "accounts/" + i.Username, After: after})
	})
	if err != nil {
		return err
	}
	return why
}

// reauthenticate records that the holder of a session has confirmed their identity at the provider,
// and returns the form that waits for that. The groups count as at a sign-in: the mapping's roles
// are set even if none is left and the holder is refused.
func (s *SingleSignOn) reauthenticate(ctx context.Context, by audit.Actor, r SignOnCallback, a authorization, i signon.Identity) (*PendingForm, error) {
	digest, err := operators.ParseToken(r.Session)
	if err != nil {
		return nil, err
	}
	var of operators.AccountID
	var refused error
	err = s.store.Update(ctx, func(tx ports.Tx) error {
		refused = nil
		session, account, err := validSession(ctx, tx, digest, s.clock.Now())
		if err != nil {
			return err
		}
		if err := tx.Operators().LockUser(ctx, account.User.ID); err != nil {
			return err
		}
		if s.operators.policy.IsBreakGlass(account.Account) {
			return signon.ErrReserved
		}
		of = account.ID
		link, err := tx.SignOn().Of(ctx, account.ID)
		if errors.Is(err, signon.ErrNotFound) || (err == nil && link.Subject != i.Subject) {
			return signon.ErrOtherAccount
		}
		if err != nil {
			return err
		}
		if !i.RecentFor(a.Sent) {
			return signon.ErrNotRecent
		}
		by.Name = account.User.Username
		account, lets, err := s.admits(ctx, tx, by, account, i)
		if err != nil {
			return err
		}
		if !lets {
			refused = signon.ErrNoRole
			return nil
		}
		if err := tx.SignOn().SaveSession(ctx, signon.Session{Subject: i.Subject, Digest: digest, Provider: i.Session}); err != nil {
			return err
		}
		return s.operators.recordReauthentication(ctx, tx, by, session, account, operators.BySingleSignOn)
	})
	if err == nil {
		err = refused
	}
	if err != nil {
		return nil, err
	}
	form, err := s.form(ctx, of, a.Form)
	if errors.Is(err, factors.ErrStep) {
		err = signon.ErrBrowser
	}
	return &form, err
}

// LogOut ends the sessions that a logout token of the provider names. signon.ErrOff,
// signon.ErrUnavailable, signon.ErrAnswer, signon.ErrReplayed.
func (s *SingleSignOn) LogOut(ctx context.Context, by audit.Actor, token string) error {
	if s.provider == nil {
		return signon.ErrOff
	}
	l, err := s.provider.Logout(ctx, token)
	if err != nil {
		return err
	}
	return s.store.Update(ctx, func(tx ports.Tx) error {
		if err := tx.SignOn().UseToken(ctx, l, s.clock.Now()); err != nil {
			return err
		}
		for {
			found, err := tx.SignOn().Sessions(ctx, l, MaxShown)
			if err != nil || len(found) == 0 {
				return err
			}
			for _, f := range found {
				if err := s.end(ctx, tx, by, f); err != nil {
					return err
				}
			}
		}
	})
}

// end ends a session because the provider has ended its own.
func (s *SingleSignOn) end(ctx context.Context, tx ports.Tx, by audit.Actor, f signon.Session) error {
	session, account, err := tx.Operators().Session(ctx, f.Digest)
	if err != nil {
		return err
	}
	if err := tx.Operators().End(ctx, f.Digest); err != nil {
		return err
	}
	by.Name = account.User.Username
	return recordAccount(ctx, tx, by, s.clock.Now(), audit.SignedOutByProvider, account.Account, audit.State{"from": session.Address})
}

// EndSessionURL returns the address at which a user ends their session at the provider; empty when
// the provider has none. signon.ErrOff, signon.ErrUnavailable.
func (s *SingleSignOn) EndSessionURL(ctx context.Context, back string) (string, error) {
	if s.provider == nil {
		return "", signon.ErrOff
	}
	return s.provider.EndSessionURL(ctx, back)
}
