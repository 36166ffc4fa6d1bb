package app

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/factors"
	"github.com/tocsin/tocsin/domain/installation"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/ports"
)

// maxHashing is how many passwords are hashed at once: each takes 19 MiB for a moment.
const maxHashing = 4

// Operators is the use cases of signing in to the console and out.
type Operators struct {
	store   ports.Store
	clock   ports.Clock
	policy  operators.Policy
	hashing chan struct{}
}

// seenTimeout is how long a page waits for the record that a user was seen.
const seenTimeout = time.Second

// NewOperators returns the use cases on users of the console.
func NewOperators(store ports.Store, clock ports.Clock, p operators.Policy) *Operators {
	return &Operators{store: store, clock: clock, policy: p, hashing: make(chan struct{}, maxHashing)}
}

// SignInResult is what a browser gets after a sign-in: the token of the session, and the token that
// identifies the browser from then on.
type SignInResult struct {
	Session string
	Device  string
	// Step is set, and nothing else, if a second factor is needed first: the token of the step for
	// Factors.VerifyCode.
	Step string
}

// SignIn begins a session of the user's account with this password. For an unknown user as for a
// wrong password the answer is operators.ErrCredentials and takes equally long; after too many
// wrong ones it is operators.TooManyError, for unknown users, too. If the password is that of
// several accounts, it opens the one of operators.NewestPasswordFirst.
func (o *Operators) SignIn(ctx context.Context, by audit.Actor, from operators.Origin, username, password string) (a SignInResult, err error) {
	g := attempt{username: username, from: from}
	err = o.store.View(ctx, func(tx ports.Tx) (err error) {
		if o.policy.AllowsPasswordOf(username) { // Other users are refused like unknown ones, after the same work.
			of, err := tx.Operators().Accounts(ctx, username)
			if err != nil {
				return err
			}
			g.accounts = operators.NewestPasswordFirst(of)
		}
		return g.load(ctx, tx, o.clock.Now())
	})
	if err != nil {
		return SignInResult{}, err
	}
	by.Name = username
	if len(g.accounts) > 0 {
		by.Name = g.accounts[0].User.Username
	}
	g.by = by
	matched, err := o.checkPassword(ctx, g, password)
	if err != nil {
		return SignInResult{}, err
	}
	return ports.Update(ctx, o.store, func(tx ports.Tx) (SignInResult, error) {
		account, err := g.succeed(ctx, tx, o.clock.Now(), matched)
		if err != nil {
			return SignInResult{}, err
		}
		return o.admit(ctx, tx, by, account, from)
	})
}

// admit begins the session of a user who has given the right password of an account, or the step in
// which they show its second factor.
func (o *Operators) admit(ctx context.Context, tx ports.Tx, by audit.Actor, account operators.AccountAccess, from operators.Origin) (SignInResult, error) {
	held, err := tx.Factors().Enabled(ctx, account.ID)
	if err != nil {
		return SignInResult{}, err
	}
	if held.Any() {
		return o.beginSecondFactor(ctx, tx, by, account)
	}
	return o.startSession(ctx, tx, by, account, from, operators.ByPassword)
}

// beginSecondFactor begins the step in which a user who has given the right password shows a second
// factor. The audit log records it: who goes no further may be somebody else with the password.
func (o *Operators) beginSecondFactor(ctx context.Context, tx ports.Tx, by audit.Actor, account operators.AccountAccess) (SignInResult, error) {
	now := o.clock.Now()
	step, token := factors.NewStep(factors.SecondFactor, account.ID, nil, now)
	if err := errors.Join(tx.Factors().Sweep(ctx, now), tx.Factors().Begin(ctx, step)); err != nil {
		return SignInResult{}, err
	}
	return SignInResult{Step: token}, recordAccount(ctx, tx, by, now, audit.FactorAsked, account.Account, nil)
}

// startSession begins a session of a user who has been authenticated. Every way of signing in ends
// here: the browser is known for the account from now on, and the audit log records the sign-in.
func (o *Operators) startSession(
	ctx context.Context, tx ports.Tx, by audit.Actor, account operators.AccountAccess, from operators.Origin, method operators.Method,
) (a SignInResult, err error) {
	now := o.clock.Now()
	if !o.policy.Allows(account.Account, method) {
		return SignInResult{}, operators.ErrSingleSignOnOnly
	}
	if err := tx.Operators().Sweep(ctx, now); err != nil {
		return SignInResult{}, err
	}
	a.Device = from.Device
	digest, of, err := knownDevice(ctx, tx, from, now)
	if err != nil {
		return SignInResult{}, err
	}
	if len(of) == 0 { // A token that was never issued may be in use elsewhere, too.
		a.Device = operators.NewToken()
		if digest, err = operators.ParseToken(a.Device); err != nil {
			return SignInResult{}, err
		}
	}
	var s operators.Session
	s, a.Session = operators.NewSession(account.ID, method, digest, by.Address, now)
	err = errors.Join(tx.Operators().Begin(ctx, s), tx.Operators().Remember(ctx, operators.Device{Digest: digest, Account: account.ID, Seen: now}))
	if err != nil {
		return SignInResult{}, err
	}
	if !slices.Contains(of, account.ID) {
		if err := recordHolder(ctx, tx, by, now, audit.DeviceAdded, []operators.AccountAccess{account}, nil); err != nil {
			return SignInResult{}, err
		}
	}
	if o.policy.SingleSignOnOnly && method != operators.BySingleSignOn {
		if err := recordAccount(ctx, tx, by, now, audit.BreakGlassUsed, account.Account, nil); err != nil {
			return SignInResult{}, err
		}
	}
	return a, recordAccount(ctx, tx, by, now, audit.SignedIn, account.Account, audit.State{"method": string(method)})
}

// Resume returns the user of a session's token, with their current rights; operators.ErrNoSession.
func (o *Operators) Resume(ctx context.Context, token string) (v operators.Principal, err error) {
	digest, err := operators.ParseToken(token)
	if err != nil {
		return operators.Principal{}, err
	}
	now := o.clock.Now()
	var s operators.Session
	err = o.store.View(ctx, func(tx ports.Tx) error {
		var account operators.AccountAccess
		if s, account, err = validSession(ctx, tx, digest, now); err != nil {
			return err
		}
		if !o.policy.Allows(account.Account, s.Method) {
			return operators.ErrNoSession
		}
		v = account.Principal()
		v.Authenticated, v.Method = s.Authenticated, s.Method
		return nil
	})
	if err == nil && s.Stale(now) {
		err = o.recordSeen(ctx, func(ctx context.Context, tx ports.Tx) error { return tx.Operators().Touch(ctx, digest, now) })
	}
	if err != nil {
		return operators.Principal{}, err
	}
	return v, nil
}

// RecordVisit records that a user was seen in an organization, if their account opens it as a
// member.
func (o *Operators) RecordVisit(ctx context.Context, v operators.Principal, slug string) error {
	now := o.clock.Now()
	i := slices.IndexFunc(v.Organizations, func(p operators.OrganizationAccess) bool { return p.Organization.Slug == slug })
	if i < 0 || now.Before(v.Organizations[i].Seen.Add(operators.VisitResolution)) {
		return nil
	}
	return o.recordSeen(ctx, func(ctx context.Context, tx ports.Tx) error {
		return tx.Operators().RecordVisit(ctx, v.Account, v.Organizations[i].Organization.ID, now)
	})
}

// recordSeen records that a user was seen. After a failure the next page tries again: pages are
// needed most while the database is in trouble.
func (o *Operators) recordSeen(ctx context.Context, write func(ctx context.Context, tx ports.Tx) error) error {
	ctx, cancel := context.WithTimeout(ctx, seenTimeout)
	defer cancel()
	err := o.store.Update(ctx, func(tx ports.Tx) error { return write(ctx, tx) })
	if errors.Is(err, ports.ErrUnavailable) || errors.Is(err, installation.ErrReadOnly) {
		return nil
	}
	return err
}

// validSession finds a valid session, with its account; operators.ErrNoSession.
func validSession(ctx context.Context, tx ports.Tx, d operators.Digest, now time.Time) (operators.Session, operators.AccountAccess, error) {
	s, account, err := tx.Operators().Session(ctx, d)
	if err == nil && !s.Valid(now) {
		err = operators.ErrNoSession
	}
	return s, account, err
}

// SignOut ends the session with this token, if there is one.
func (o *Operators) SignOut(ctx context.Context, by audit.Actor, token string) error {
	digest, err := operators.ParseToken(token)
	if err != nil {
		return err
	}
	return o.store.Update(ctx, func(tx ports.Tx) error {
		_, account, err := tx.Operators().Session(ctx, digest)
		if errors.Is(err, operators.ErrNoSession) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := tx.Operators().End(ctx, digest); err != nil {
			return err
		}
		return recordAccount(ctx, tx, by, o.clock.Now(), audit.SignedOut, account.Account, nil)
	})
}

// SignOutEverywhere ends every session of the signed-in user's account.
func (o *Operators) SignOutEverywhere(ctx context.Context, by audit.Actor, v operators.Principal) error {
	return o.store.Update(ctx, func(tx ports.Tx) error {
		ended, err := tx.Operators().EndAll(ctx, v.Account)
		if err != nil {
			return err
		}
		return recordAccount(ctx, tx, by, o.clock.Now(), audit.SignedOutEverywhere, operators.Account{User: v.User}, audit.State{"sessions": ended})
	})
}

// accountsOf returns the accounts of a user; operators.ErrNotFound when there is none.
func accountsOf(ctx context.Context, tx ports.Tx, username string) ([]operators.AccountAccess, error) {
	of, err := tx.Operators().Accounts(ctx, username)
	if err == nil && len(of) == 0 {
		err = operators.ErrNotFound
	}
	return of, err
}

// lockAccounts is accountsOf for a unit of work that changes how they are opened.
func lockAccounts(ctx context.Context, tx ports.Tx, username string) ([]operators.AccountAccess, error) {
	of, err := accountsOf(ctx, tx, username)
	if err != nil {
		return nil, err
	}
	return of, tx.Operators().LockUser(ctx, of[0].User.ID)
}

// recordAccount records a change of an account in the log of the installation, to which accounts
// belong.
func recordAccount(
	ctx context.Context, tx ports.Tx, by audit.Actor, now time.Time, a audit.Action, account operators.Account, after audit.State,
) error {
	return tx.Audit().Record(ctx, audit.Entry{Actor: by, At: now, Action: a, Object: "accounts/" + account.User.Username, After: after})
}

// recordHolder records a change for the holder of accounts, all of one user, in the log of the
// installation and in those of the organizations in which they have a role by these accounts. Other
// organizations learn nothing.
func recordHolder(
	ctx context.Context, tx ports.Tx, by audit.Actor, now time.Time, a audit.Action, hs []operators.AccountAccess, after audit.State,
) error {
	if len(hs) == 0 {
		return nil
	}
	username := hs[0].User.Username
	entries := []audit.Entry{{Actor: by, At: now, Action: a, Object: "accounts/" + username, After: after}}
	for _, h := range hs { // No organization twice: one account opens it.
		for _, p := range h.Organizations {
			if p.HasRole() {
				entries = append(entries, audit.Entry{Organization: p.Organization.ID, Actor: by, At: now, Action: a,
					Object: Path{Organization: p.Organization.Slug}.Object("u", username), After: after})
			}
		}
	}
	return tx.Audit().Record(ctx, entries...)
}
