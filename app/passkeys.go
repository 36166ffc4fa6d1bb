package app

import (
	"context"
	"errors"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/factors"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/ports"
)

// PasskeyChallenge is the request to a browser's authenticator, in JSON, and the token of the step
// that waits for the answer.
type PasskeyChallenge struct {
	Options []byte
	Step    string
}

// PasskeyOrigin returns the origin of the passkeys, empty if there are none.
func (f *Factors) PasskeyOrigin() string {
	if f.authenticators == nil {
		return ""
	}
	return f.authenticators.Origin()
}

// Passkeys returns the passkeys of the signed-in user's account.
func (f *Factors) Passkeys(ctx context.Context, v operators.Principal) ([]factors.Passkey, error) {
	return ports.View(ctx, f.store, func(tx ports.Tx) ([]factors.Passkey, error) {
		return tx.Factors().Passkeys(ctx, v.Account)
	})
}

// BeginPasskey begins to add a passkey to the signed-in user's account; factors.ErrTooMany,
// factors.ErrPasskeysOff.
func (f *Factors) BeginPasskey(ctx context.Context, v operators.Principal) (PasskeyChallenge, error) {
	return f.begin(ctx, factors.SetUpPasskey, func(tx ports.Tx) (of operators.AccountID, asked, held []byte, err error) {
		o, err := ownerOf(ctx, tx, v.Account, v.User.Username)
		if err != nil {
			return 0, nil, nil, err
		}
		if len(o.Passkeys) >= factors.MaxPasskeys {
			return 0, nil, nil, factors.ErrTooMany
		}
		asked, held, err = f.authenticators.BeginRegistration(o)
		return v.Account, asked, held, err
	})
}

// begin begins a step that waits for the answer of an authenticator; factors.ErrPasskeysOff.
func (f *Factors) begin(
	ctx context.Context, p factors.Purpose, ask func(tx ports.Tx) (of operators.AccountID, asked, held []byte, err error),
) (PasskeyChallenge, error) {
	if f.authenticators == nil {
		return PasskeyChallenge{}, factors.ErrPasskeysOff
	}
	return ports.Update(ctx, f.store, func(tx ports.Tx) (a PasskeyChallenge, err error) {
		of, asked, held, err := ask(tx)
		if err != nil {
			return a, err
		}
		now := f.clock.Now()
		var s factors.Step
		s, a.Step = factors.NewStep(p, of, held, now)
		a.Options = asked
		return a, errors.Join(tx.Factors().Sweep(ctx, now), tx.Factors().Begin(ctx, s))
	})
}

// ownerOf returns an account with its passkeys. An account without a handle gets one.
func ownerOf(ctx context.Context, tx ports.Tx, a operators.AccountID, username string) (o factors.Owner, err error) {
	o = factors.Owner{Username: username}
	if o.Passkeys, err = tx.Factors().Passkeys(ctx, a); err != nil {
		return o, err
	}
	if o.Handle = factors.NewHandle(); len(o.Passkeys) > 0 {
		o.Handle = o.Passkeys[0].Handle
	}
	return o, nil
}

// ConfirmPasskey adds the passkey of BeginPasskey to the signed-in user's account. It returns the
// recovery codes of the account, if it had none; they are shown only once. The account's other
// sessions end, and this one counts as begun with a second factor. factors.ErrStep,
// factors.ErrTooMany, factors.ErrExists, factors.ErrPasskey.
func (f *Factors) ConfirmPasskey(ctx context.Context, by audit.Actor, v operators.Principal, session, step, name string, answer []byte) (codes []string, err error) {
	if f.authenticators == nil {
		return nil, factors.ErrPasskeysOff
	}
	if name, err = factors.PasskeyName(name); err != nil {
		return nil, err
	}
	err = f.change(ctx, v, func(tx ports.Tx, _ operators.AccountAccess) error {
		s, err := f.step(ctx, tx, factors.SetUpPasskey, step)
		if err != nil {
			return err
		}
		if s.Account != v.Account {
			return factors.ErrStep
		}
		held, err := tx.Factors().Enabled(ctx, v.Account)
		if err != nil {
			return err
		}
		if held.Passkeys >= factors.MaxPasskeys {
			return factors.ErrTooMany
		}
		p, err := f.authenticators.FinishRegistration(s.Data, answer)
		if err != nil {
			return err
		}
		if _, err := tx.Factors().End(ctx, s.Digest); err != nil {
			return err
		}
		p.Account, p.Name, p.Created = v.Account, name, f.clock.Now()
		if _, err := tx.Factors().AddPasskey(ctx, p); err != nil {
			return err
		}
		codes, err = f.added(ctx, tx, by, v, session, audit.State{"factor": passkeyFactor, "name": name}, operators.ByPasswordAndPasskey)
		return err
	})
	return codes, err
}

// The names of factors in the audit log.
const (
	appFactor     = "authenticator app"
	passkeyFactor = "passkey"
)

// RenamePasskey changes the name of a passkey of the signed-in user's account; factors.ErrNotFound.
func (f *Factors) RenamePasskey(ctx context.Context, by audit.Actor, v operators.Principal, id factors.PasskeyID, name string) error {
	name, err := factors.PasskeyName(name)
	if err != nil {
		return err
	}
	return f.change(ctx, v, func(tx ports.Tx, account operators.AccountAccess) error {
		p, err := passkey(ctx, tx, v.Account, id)
		if err != nil || p.Name == name {
			return err
		}
		if err := tx.Factors().RenamePasskey(ctx, v.Account, id, name); err != nil {
			return err
		}
		return recordHolder(ctx, tx, by, f.clock.Now(), audit.FactorRenamed, []operators.AccountAccess{account}, audit.State{"factor": passkeyFactor, "was": p.Name, "name": name})
	})
}

// RemovePasskey removes a passkey of the signed-in user's account, and ends the account's sessions
// but this one: others may have begun with the passkey. factors.ErrNotFound.
func (f *Factors) RemovePasskey(ctx context.Context, by audit.Actor, v operators.Principal, session string, id factors.PasskeyID) error {
	return f.change(ctx, v, func(tx ports.Tx, account operators.AccountAccess) error {
		p, err := passkey(ctx, tx, v.Account, id)
		if err != nil {
			return err
		}
		if err := tx.Factors().RemovePasskey(ctx, v.Account, id); err != nil {
			return err
		}
		return f.removed(ctx, tx, by, account, session, audit.State{"factor": passkeyFactor, "name": p.Name})
	})
}

// passkey finds a passkey of an account; factors.ErrNotFound.
func passkey(ctx context.Context, tx ports.Tx, a operators.AccountID, id factors.PasskeyID) (factors.Passkey, error) {
	found, err := tx.Factors().Passkeys(ctx, a)
	if err != nil {
		return factors.Passkey{}, err
	}
	for _, p := range found {
		if p.ID == id {
			return p, nil
		}
	}
	return factors.Passkey{}, factors.ErrNotFound
}
