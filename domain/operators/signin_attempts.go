package operators

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/names"
)

// After FreeAttempts wrong passwords in a row the next has to wait for FirstDelay, and after each
// further one twice as long, up to LongestDelay. After another AttemptMemory without an attempt the
// count starts again.
const (
	FreeAttempts  = 3
	FirstDelay    = 10 * time.Second
	LongestDelay  = 15 * time.Minute
	AttemptMemory = 30 * time.Minute
)

// ErrTooMany refuses a password, right or wrong, that comes too early after wrong ones.
var ErrTooMany = fault.New(fault.Limited, "too many wrong passwords")

// TooManyError is ErrTooMany with the time to wait.
type TooManyError struct{ Wait time.Duration }

func (t TooManyError) Error() string {
	return fmt.Sprintf("%s: try again in %s", ErrTooMany.Error(), t.Wait.Round(time.Second))
}

// Unwrap returns ErrTooMany.
func (TooManyError) Unwrap() error { return ErrTooMany }

// Origin is where an attempt to sign in comes from.
type Origin struct {
	Network string // of the client: one IPv4 address, or the /64 of an IPv6 one
	Device  string // the token that the browser got at a sign-in; empty: none
}

// AttemptKey returns the key of the counter of attempts: a username, without regard to case and
// whether it exists or not, and the origin of the attempts. A device that has signed in to each of
// the accounts before is an origin of its own, so attackers can lock out neither it nor another
// network.
func (o Origin) AttemptKey(username string, device Digest, known bool) Digest {
	place := "network " + o.Network
	if known {
		place = "device " + string(device[:])
	}
	name := sha256.Sum256([]byte(names.Fold(username)))
	return sha256.Sum256(append(name[:], place...))
}

// Attempts are consecutive failed attempts to sign in, for one username from one origin. The zero
// value is none.
type Attempts struct {
	Failures int
	Until    time.Time // no password is checked before
	Refused  bool      // an attempt was refused since the last one that was checked
}

// Try counts an attempt before it is known whether it is right, so that concurrent attempts get no
// more tries than consecutive ones. wait is how long it must be delayed; then nothing is counted.
func (a Attempts) Try(now time.Time) (after Attempts, wait time.Duration) {
	switch {
	case now.Before(a.Until):
		a.Refused = true
		return a, a.Until.Sub(now)
	case !now.Before(a.Expires()):
		a = Attempts{}
	}
	a.Failures++
	return Attempts{Failures: a.Failures, Until: now.Add(delay(a.Failures))}, 0
}

// Failed records that an attempt, which Try has counted, was wrong: the time to wait begins with
// the answer.
func (a Attempts) Failed(now time.Time) Attempts {
	if until := now.Add(delay(a.Failures)); until.After(a.Until) {
		a.Until = until
	}
	return a
}

// Undone returns the attempts without the last one, because it was right.
func (a Attempts) Undone(now time.Time) Attempts {
	return Attempts{Failures: max(0, a.Failures-1), Until: now}
}

// Expires returns when the attempts expire.
func (a Attempts) Expires() time.Time { return a.Until.Add(AttemptMemory) }

// delay returns the time to wait after this number of wrong passwords.
func delay(failures int) time.Duration {
	if failures < FreeAttempts {
		return 0
	}
	d := FirstDelay
	for range failures - FreeAttempts {
		if d *= 2; d >= LongestDelay {
			return LongestDelay
		}
	}
	return d
}

// AttemptRepository counts attempts.
type AttemptRepository interface {
	// Attempts returns the attempts of a key, zero when there are none.
	Attempts(ctx context.Context, key Digest) (Attempts, error)
	// SaveAttempts stores the attempts of a key and deletes some expired ones, more than it stores.
	SaveAttempts(ctx context.Context, key Digest, a Attempts, now time.Time) error
	// ForgetAttempts deletes the attempts of a key, if there are any.
	ForgetAttempts(ctx context.Context, key Digest) error
}
