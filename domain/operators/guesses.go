package operators

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/names"
)

// After FreeGuesses wrong passwords in a row the next has to wait for FirstDelay, and after each
// further one twice as long, up to LongestDelay. After another GuessMemory without an attempt the
// count starts again.
const (
	FreeGuesses  = 3
	FirstDelay   = 10 * time.Second
	LongestDelay = 15 * time.Minute
	GuessMemory  = 30 * time.Minute
)

// ErrTooMany refuses a password, right or wrong, that comes too early after wrong ones.
var ErrTooMany = fault.New(fault.Limited, "too many wrong passwords")

// TooMany is ErrTooMany with the time to wait.
type TooMany struct{ Wait time.Duration }

func (t TooMany) Error() string {
	return fmt.Sprintf("%s: try again in %s", ErrTooMany.Error(), t.Wait.Round(time.Second))
}

// Unwrap returns ErrTooMany.
func (TooMany) Unwrap() error { return ErrTooMany }

// Origin is where an attempt to sign in comes from.
type Origin struct {
	Network string // of the client: one IPv4 address, or the /64 of an IPv6 one
	Device  string // the token that the browser got at a sign-in; empty: none
}

// GuessKey returns the key of the counter of guesses: a username, without regard to case and
// whether it exists or not, and the place that they come from. A device that has signed in to the
// account before is a place of its own, so attackers can lock out neither it nor another network.
func (o Origin) GuessKey(username string, device Digest, known bool) Digest {
	place := "network " + o.Network
	if known {
		place = "device " + string(device[:])
	}
	name := sha256.Sum256([]byte(names.Fold(username)))
	return sha256.Sum256(append(name[:], place...))
}

// Guesses are the wrong passwords in a row for one username from one place. The zero value is none.
type Guesses struct {
	Failures int
	Until    time.Time // no password is checked before
	Refused  bool      // one was not checked, since the last that was
}

// Try counts an attempt before it is known whether it is right, so that concurrent attempts get no
// more tries than consecutive ones. wait is how long it must be delayed; then nothing is counted.
func (g Guesses) Try(now time.Time) (after Guesses, wait time.Duration) {
	switch {
	case now.Before(g.Until):
		g.Refused = true
		return g, g.Until.Sub(now)
	case !now.Before(g.Forget()):
		g = Guesses{}
	}
	g.Failures++
	return Guesses{Failures: g.Failures, Until: now.Add(delay(g.Failures))}, 0
}

// Failed records that an attempt, which Try has counted, was wrong: the time to wait begins with
// the answer.
func (g Guesses) Failed(now time.Time) Guesses {
	if until := now.Add(delay(g.Failures)); until.After(g.Until) {
		g.Until = until
	}
	return g
}

// Forget returns when the guesses expire.
func (g Guesses) Forget() time.Time { return g.Until.Add(GuessMemory) }

// delay returns the time to wait after so many wrong passwords.
func delay(failures int) time.Duration {
	if failures < FreeGuesses {
		return 0
	}
	d := FirstDelay
	for range failures - FreeGuesses {
		if d *= 2; d >= LongestDelay {
			return LongestDelay
		}
	}
	return d
}

// GuessRepository counts guesses.
type GuessRepository interface {
	// Guesses returns the guesses of a key, zero when there are none.
	Guesses(ctx context.Context, key Digest) (Guesses, error)
	// SaveGuesses stores the guesses of a key and deletes some expired ones, more than it stores.
	SaveGuesses(ctx context.Context, key Digest, g Guesses, now time.Time) error
	// ForgetGuesses deletes the guesses of a key, if there are any.
	ForgetGuesses(ctx context.Context, key Digest) error
}
