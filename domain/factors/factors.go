// Package factors has the rules of what users show besides a password when they sign in to the
// console: one-time codes of an authenticator app, recovery codes, and passkeys. It knows no page,
// no cookie, and no database. The Authenticators port checks the signatures of passkeys.
package factors

import (
	"context"
	"time"

	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/operators"
)

// Errors of this package.
var (
	ErrNotFound    = fault.New(fault.NotFound, "there is no such second factor")
	ErrExists      = fault.New(fault.Invalid, "this is set up already")
	ErrTooMany     = fault.New(fault.Invalid, "there are too many passkeys; remove one first")
	ErrCode        = fault.New(fault.Invalid, "is not valid, or was already used")
	ErrPasskey     = fault.New(fault.Invalid, "the passkey was not accepted")
	ErrPasskeysOff = fault.New(fault.Invalid, "passkeys need base_url to be set to an https address with a host name")
	ErrRequired    = fault.New(fault.Invalid, "a second factor is required")
	ErrHasFactor   = fault.New(fault.Invalid, "this account has a second factor already: set a password, or ask for a link that says that the second factor is lost")
	ErrOnlyKey     = fault.New(fault.Invalid, "this account has no password, so this passkey is the only way to sign in: add another one before you remove it")
	ErrStep        = fault.New(fault.Unauthenticated, "this took too long, or was done already; please begin again")
	ErrSealed      = fault.New(fault.Unavailable, "the second factor cannot be opened")
)

// MaxPasskeys is how many passkeys an account may have.
const MaxPasskeys = 20

// Enabled is the set of factors that an account has.
type Enabled struct {
	TOTP     bool
	Passkeys int
	Recovery int // codes that are left
}

// Any reports whether there is a second factor. Recovery codes alone are none.
func (h Enabled) Any() bool { return h.TOTP || h.Passkeys > 0 }

// Repository keeps the factors of accounts, and what was begun and waits for an answer.
type Repository interface {
	// Enabled returns the factors of an account.
	Enabled(ctx context.Context, a operators.AccountID) (Enabled, error)

	// TOTP returns an account's authenticator app; ErrNotFound, ErrSealed.
	TOTP(ctx context.Context, a operators.AccountID) (TOTP, error)
	// SaveTOTP stores an account's authenticator app and replaces the earlier one. The secret is
	// stored encrypted.
	SaveTOTP(ctx context.Context, t TOTP) error
	// UseTOTP records that a code was used; ErrNotFound.
	UseTOTP(ctx context.Context, t TOTP) error
	// RemoveTOTP deletes an account's authenticator app; ErrNotFound.
	RemoveTOTP(ctx context.Context, a operators.AccountID) error
	// StaleTOTP returns the accounts after one, by id, whose secret is not encrypted under the
	// current key, at most limit.
	StaleTOTP(ctx context.Context, after operators.AccountID, limit int) ([]Stale, error)
	// ReencryptTOTP encrypts the secret of an account under the current key, and reports whether
	// that was needed; ErrNotFound, ErrSealed.
	ReencryptTOTP(ctx context.Context, a operators.AccountID) (bool, error)

	// SetRecoveryCodes stores the digests of an account's recovery codes and replaces the earlier
	// ones.
	SetRecoveryCodes(ctx context.Context, a operators.AccountID, ds []operators.Digest) error
	// UseRecoveryCode deletes a recovery code; ErrNotFound when the account has no such code.
	UseRecoveryCode(ctx context.Context, a operators.AccountID, d operators.Digest) error

	// Passkeys returns the passkeys of an account, by id.
	Passkeys(ctx context.Context, a operators.AccountID) ([]Passkey, error)
	// Passkey finds a passkey by the id that its authenticator gave it; ErrNotFound.
	Passkey(ctx context.Context, credential []byte) (Passkey, error)
	// AddPasskey stores a new passkey and returns it with its id; ErrExists when one with this
	// credential is known.
	AddPasskey(ctx context.Context, p Passkey) (Passkey, error)
	// UsePasskey stores the record of a passkey, its last use and whether it is blocked;
	// ErrNotFound.
	UsePasskey(ctx context.Context, p Passkey) error
	// RenamePasskey stores the name of a passkey of an account; ErrNotFound.
	RenamePasskey(ctx context.Context, a operators.AccountID, id PasskeyID, name string) error
	// RemovePasskey deletes a passkey of an account; ErrNotFound.
	RemovePasskey(ctx context.Context, a operators.AccountID, id PasskeyID) error

	// RemoveAll deletes every factor and every recovery code of an account.
	RemoveAll(ctx context.Context, a operators.AccountID) error

	// Begin stores a step. Its data is stored encrypted.
	Begin(ctx context.Context, s Step) error
	// Step finds a step, expired or not; ErrStep.
	Step(ctx context.Context, d operators.Digest) (Step, error)
	// End deletes a step and reports whether it existed: of several callers that end one step only
	// one gets true.
	End(ctx context.Context, d operators.Digest) (bool, error)
	// EndSteps deletes the steps of an account that have one of the purposes; all if none is named.
	EndSteps(ctx context.Context, a operators.AccountID, of ...Purpose) error
	// Sweep deletes the expired steps.
	Sweep(ctx context.Context, now time.Time) error
}

// Stale is an account whose secret is not encrypted under the current key.
type Stale struct {
	Account  operators.AccountID
	Username string
	Key      string // the id of the key that it is encrypted under
}
