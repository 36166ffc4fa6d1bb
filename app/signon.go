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

// SignOnSettings are what the installation says of single sign-on.
type SignOnSettings struct {
	Issuer  string // as the provider calls itself
	Mapping signon.Mapping
	Label   string // of the button
}

// SingleSignOn is signing in with an identity provider, and out again.
type SingleSignOn struct {
	operators *Operators
	store     ports.Store
	clock     ports.Clock
	provider  signon.Provider
	settings  SignOnSettings
}

// NewSingleSignOn returns the use cases of single sign-on. Without a provider there is none.
func NewSingleSignOn(o *Operators, p signon.Provider, s SignOnSettings) *SingleSignOn {
	return &SingleSignOn{operators: o, store: o.store, clock: o.clock, provider: p, settings: s}
}

// SignInWays is how people sign in here.
type SignInWays struct {
	SingleSignOn string // what the button says; empty: there is none
	Only         bool   // nobody but the emergency account signs in in another way
}

// Ways returns how people sign in here.
func (s *SingleSignOn) Ways() SignInWays {
	if s.provider == nil {
		return SignInWays{}
	}
	return SignInWays{SingleSignOn: s.settings.Label, Only: s.operators.policy.SingleSignOnOnly}
}

// Pending is a form that waits until its sender has shown the provider who they are.
type Pending struct {
	Path   string // where it goes
	Sealed string
}

// KeepDraft keeps a form of the visitor for as long as a step takes, and returns the token by which
// Begin finds it.
func (s *SingleSignOn) KeepDraft(ctx context.Context, v operators.Visitor, d Pending) (token string, err error) {
	kept, err := json.Marshal(d)
	if err != nil {
		return "", err
	}
	now := s.clock.Now()
	step, token := factors.NewStep(factors.Draft, v.Account, kept, now)
	return token, s.store.Update(ctx, func(tx ports.Tx) error {
		return errors.Join(tx.Factors().Sweep(ctx, now), tx.Factors().Begin(ctx, step))
	})
}

// journey is what is kept while somebody is at the provider.
type journey struct {
	State    string    `json:"state"`
	Return   string    `json:"return"`
	Next     string    `json:"next"`
	Sent     time.Time `json:"sent"`
	Draft    string    `json:"draft,omitempty"` // the token of what waits for whoever signs in again
	Provider []byte    `json:"provider"`
}

func (j journey) wish() signon.Wish {
	return signon.Wish{Return: j.Return, State: j.State, Again: j.Draft != ""}
}

// Departure is where a browser goes to sign in, and what it keeps until it is back.
type Departure struct {
	Address string
	Step    string
}

// Begin sends somebody to the provider, who is sent back to an address of ours (back) and comes to
// a page of ours (next) when all is well. With the token of a draft it is somebody who has a
// session and shows once more who they are. signon.ErrOff, signon.ErrAway, factors.ErrStep for a
// draft that is none of the visitor's.
func (s *SingleSignOn) Begin(ctx context.Context, v operators.Visitor, back, next, draft string) (d Departure, err error) {
	if s.provider == nil {
		return Departure{}, signon.ErrOff
	}
	now := s.clock.Now()
	if draft != "" {
		if _, err := s.draft(ctx, v.Account, draft); err != nil {
			return Departure{}, err
		}
	}
	j := journey{State: operators.NewToken(), Return: back, Next: next, Sent: now, Draft: draft}
	if d.Address, j.Provider, err = s.provider.Begin(ctx, j.wish()); err != nil {
		return Departure{}, err
	}
	kept, err := json.Marshal(j)
	if err != nil {
		return Departure{}, err
	}
	step, token := factors.NewStep(factors.SingleSignOn, 0, kept, now)
	d.Step = token
	return d, s.store.Update(ctx, func(tx ports.Tx) error {
		return errors.Join(tx.Factors().Sweep(ctx, now), tx.Factors().Begin(ctx, step))
	})
}

// draft finds what waits for the holder of an account; factors.ErrStep.
func (s *SingleSignOn) draft(ctx context.Context, of operators.AccountID, token string) (d Pending, err error) {
	digest, err := operators.ParseToken(token)
	if err != nil {
		return Pending{}, factors.ErrStep
	}
	return ports.View(ctx, s.store, func(tx ports.Tx) (d Pending, err error) {
		step, err := tx.Factors().Step(ctx, digest)
		if err != nil {
			return d, err
		}
		if !step.For(factors.Draft, s.clock.Now()) || step.Account != of {
			return d, factors.ErrStep
		}
		err = json.Unmarshal(step.Held, &d)
		return d, err
	})
}

// Return is what a browser comes back with.
type Return struct {
	Step    string // that it kept
	Session string // the token of the session that it has, if any
	State   string
	Code    string
	Issuer  string // that the answer names; empty: none
	Refused string // why the provider refuses, in its words; empty: it does not
}

// Arrival is what becomes of somebody who is back.
type Arrival struct {
	Admission          // of whoever signs in
	Next      string   // where they wanted to go
	Draft     *Pending // of whoever has shown once more who they are
}

// Finish ends what Begin began: it begins a session of the account that the identity opens, which
// is made when there is none, or notes that somebody has shown once more who they are. Refusals are
// in the audit log. signon.ErrAway, and everything of package signon that forbids.
func (s *SingleSignOn) Finish(ctx context.Context, by audit.Actor, from operators.Origin, r Return) (a Arrival, err error) {
	if s.provider == nil {
		return Arrival{}, signon.ErrOff
	}
	j, err := s.back(ctx, r)
	if errors.Is(err, factors.ErrStep) {
		return Arrival{}, signon.ErrBrowser
	}
	if err != nil {
		return Arrival{}, err
	}
	var i signon.Identity
	switch {
	case subtle.ConstantTimeCompare([]byte(r.State), []byte(j.State)) != 1:
		err = signon.ErrBrowser
	case r.Refused != "" || r.Code == "":
		err = signon.ErrRefused
	default:
		i, err = s.provider.Finish(ctx, j.wish(), j.Provider, r.Code, r.Issuer)
	}
	a.Next = j.Next
	if err == nil && j.Draft != "" {
		a.Draft, err = s.again(ctx, by, r, j, i)
	} else if err == nil {
		a.Admission, err = s.enter(ctx, by, from, i)
	}
	return a, s.refuse(ctx, by, i, err)
}

// back ends the step that a browser kept, which takes place once, and returns what was kept;
// factors.ErrStep.
func (s *SingleSignOn) back(ctx context.Context, r Return) (j journey, err error) {
	digest, err := operators.ParseToken(r.Step)
	if err != nil {
		return journey{}, factors.ErrStep
	}
	return ports.Update(ctx, s.store, func(tx ports.Tx) (j journey, err error) {
		step, err := tx.Factors().Step(ctx, digest)
		if err != nil {
			return j, err
		}
		first, err := tx.Factors().End(ctx, digest)
		if err != nil {
			return j, err
		}
		if !first || !step.For(factors.SingleSignOn, s.clock.Now()) {
			return j, factors.ErrStep
		}
		err = json.Unmarshal(step.Held, &j)
		return j, err
	})
}

// refuse notes why somebody was not let in, and returns that. What is nobody's refusal stays out of
// the log.
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

// again notes that whoever has a session has shown the provider once more who they are, and returns
// what waits for that.
func (s *SingleSignOn) again(ctx context.Context, by audit.Actor, r Return, j journey, i signon.Identity) (*Pending, error) {
	digest, err := operators.ParseToken(r.Session)
	if err != nil {
		return nil, err
	}
	var of operators.AccountID
	err = s.store.Update(ctx, func(tx ports.Tx) error {
		session, account, err := valid(ctx, tx, digest, s.clock.Now())
		if err != nil {
			return err
		}
		of = account.ID
		link, err := tx.SignOn().Of(ctx, account.ID)
		if errors.Is(err, signon.ErrNotFound) || (err == nil && link.Subject != i.Subject) {
			return signon.ErrOther
		}
		if err != nil {
			return err
		}
		if !i.RecentFor(j.Sent) {
			return signon.ErrNotRecent
		}
		if err := tx.SignOn().Began(ctx, signon.Session{Subject: i.Subject, Digest: digest, Provider: i.Session}); err != nil {
			return err
		}
		by.Name = account.User.Username
		return s.operators.again(ctx, tx, by, session, account, operators.BySingleSignOn)
	})
	if err != nil {
		return nil, err
	}
	d, err := s.draft(ctx, of, j.Draft)
	if errors.Is(err, factors.ErrStep) {
		err = signon.ErrBrowser
	}
	return &d, err
}

// LogOut ends the sessions that a logout token of the provider is about. signon.ErrOff,
// signon.ErrAway, signon.ErrAnswer, signon.ErrReplayed.
func (s *SingleSignOn) LogOut(ctx context.Context, by audit.Actor, token string) error {
	if s.provider == nil {
		return signon.ErrOff
	}
	l, err := s.provider.Logout(ctx, token)
	if err != nil {
		return err
	}
	return s.store.Update(ctx, func(tx ports.Tx) error {
		if err := tx.SignOn().Take(ctx, l, s.clock.Now()); err != nil {
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

// Leave returns the address where somebody ends their session at the provider; empty when it has
// none. signon.ErrOff, signon.ErrAway.
func (s *SingleSignOn) Leave(ctx context.Context, back string) (string, error) {
	if s.provider == nil {
		return "", signon.ErrOff
	}
	return s.provider.Leave(ctx, back)
}
