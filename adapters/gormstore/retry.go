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
	// maxAttempts is the maximum number of attempts of a unit of work that conflicts with others.
	maxAttempts = 40
	// maxViolations is the maximum number of attempts that violate a constraint, which may be the
	// unit's own error.
	maxViolations = 3
	firstPause    = 500 * time.Microsecond
	longestPause  = 50 * time.Millisecond
)

// retried retries a unit of work on Postgres while it conflicts with others: another unit changed a
// row first (40001), or the two deadlocked (40P01). A violated constraint is retried as well,
// because another unit's commit after the unit's snapshot may have caused it: it added a row that
// the unit did not see and added too (23505), or deleted one that the unit saw and referred to
// (23503). On a new snapshot the unit sees the change. If it fails again, the error is its own. A
// unit whose statements were prepared before a migration (0A000) is retried too.
//
// A unit that failed twice waits for the only retry slot. So, if many units want to update one row,
// only one of them competes with new units, and each succeeds in turn.
func (e *postgresEngine) retried(ctx context.Context, attempt func() error) error {
	violations, hasSlot := 0, false
	defer func() {
		if hasSlot {
			<-e.retrySlot
		}
	}()
	for n := 1; ; n++ {
		if n == 3 {
			select {
			case e.retrySlot <- struct{}{}:
				hasSlot = true
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		err := attempt()
		if _, said := errors.AsType[*fault.Error](err); said { // a result, not a conflict
			return err
		}
		switch state := sqlState(err); {
		case isConflict(err), errors.Is(err, errConcurrentChange):
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

// pause waits for a random time, whose limit grows with each attempt.
func pause(ctx context.Context, attempt int) error {
	limit := min(firstPause<<min(attempt-1, 10), longestPause)
	timer := time.NewTimer(rand.N(limit)) //nolint:gosec // Not a secret.
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
