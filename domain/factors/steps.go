package factors

import (
	"time"

	"github.com/tocsin/tocsin/domain/operators"
)

// StepLife is how long a step is valid.
const StepLife = 10 * time.Minute

// Purpose is what a step is for.
type Purpose string

// The purposes.
const (
	SecondFactor  Purpose = "factor"   // the password was right, a second factor is to be shown
	SignIn        Purpose = "passkey"  // signing in with a passkey alone
	VerifyPasskey Purpose = "prove"    // a passkey as a second factor, or of a user who is signed in
	SetUpTOTP     Purpose = "totp"     // a secret was shown, a code is to confirm it
	SetUpPasskey  Purpose = "register" // a new passkey
	SingleSignOn  Purpose = "sso"      // the user was sent to the provider of single sign-on
	PendingForm   Purpose = "draft"    // a form that waits until its sender has shown the provider who they are
)

// Step is a pending step of a user in a browser, such as a second factor, that waits for an answer.
// It can be finished once.
type Step struct {
	Digest  operators.Digest // of the token that the browser keeps
	Purpose Purpose
	Account operators.AccountID // 0: not known yet
	Data    []byte              // what has to be kept until the answer
	Expires time.Time
}

// NewStep begins a step of an account and returns its token, which only the browser keeps.
func NewStep(p Purpose, a operators.AccountID, held []byte, now time.Time) (s Step, token string) {
	token = operators.NewToken()
	d, _ := operators.ParseToken(token) // It is one.
	return Step{Digest: d, Purpose: p, Account: a, Data: held, Expires: now.Add(StepLife)}, token
}

// For reports whether the step still waits for an answer of this purpose.
func (s Step) For(p Purpose, now time.Time) bool { return s.Purpose == p && now.Before(s.Expires) }
