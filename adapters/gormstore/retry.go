package gormstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/ports"
)

const (
	// maxAttempts bounds how often a unit of work is tried. Conflicts come from elsewhere and pass.
	maxAttempts = 40
	// maxViolations bounds it where a constraint was violated, which may be nobody's fault but the
	// unit's.
	maxViolations = 3
	firstPause    = 500 * time.Microsecond
	longestPause  = 50 * time.Millisecond
)

// retried runs a unit of work on Postgres again while others get in its way: another unit changed a
// row first (40001) or the two waited for each other (40P01). A violated constraint is tried again
// as well, because another unit's commit may have caused it behind the unit's snapshot: it added
// the row that the unit did not see and added too (23505), or removed the one that the unit saw and
// referred to (23503). On a new snapshot the unit sees that row, or sees that it is gone, and takes
// the other way; if not, the fault is its own. A unit whose statements were prepared before a
// migration (0A000) is tried again, too.
//
// A unit that has failed twice waits in the lane, so that of the many that want one row only one
// competes with newcomers and each of them gets its turn, instead of all of them failing each
// other.
func (e *postgresEngine) retried(ctx context.Context, attempt func() error) error {
	violations, inLane := 0, false
	defer func() {
		if inLane {
			<-e.lane
		}
	}()
	for n := 1; ; n++ {
		if n == 3 {
			select {
			case e.lane <- struct{}{}:
				inLane = true
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		err := attempt()
		if _, said := errors.AsType[*fault.Error](err); said { // an answer, not a conflict
			return err
		}
		switch state := sqlState(err); {
		case isConflict(err), errors.Is(err, errVanished):
		case state == uniqueViolation, state == foreignKeyViolation:
			if violations++; violations == maxViolations {
				return err
			}
		default:
			return err
		}
		if n == maxAttempts {
			return fmt.Errorf("%w: gave up after %d attempts: %w", ports.ErrUnavailable, n, err)
		}
		if err := pause(ctx, n); err != nil {
			return err
		}
	}
}

// pause waits a random time that grows with each attempt, so that those who met do not meet again.
func pause(ctx context.Context, attempt int) error {
	limit := min(firstPause<<min(attempt-1, 10), longestPause)
	timer := time.NewTimer(rand.N(limit)) //nolint:gosec // Nobody gains by guessing it.
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
