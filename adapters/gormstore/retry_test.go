package gormstore_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/ports"
)

func postgresError(code string) error {
	return fmt.Errorf("a statement: %w", &pgconn.PgError{Code: code, Message: "as Postgres puts it"})
}

func TestRetry(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fails    []error // of the attempts; the last one repeats
		attempts int
		want     error
	}{
		"AUnitThatSucceedsRunsOnce":        {[]error{nil}, 1, nil},
		"ALostRaceForARowIsRunAgain":       {[]error{postgresError("40001"), nil}, 2, nil},
		"DeadlockIsRetried":                {[]error{postgresError("40P01"), nil}, 2, nil},
		"ConcurrentlyAddedRowIsRetried":    {[]error{postgresError("23505"), postgresError("23505"), nil}, 3, nil},
		"ARowThatAnotherRemovedIsRunAgain": {[]error{postgresError("23503"), nil}, 2, nil},
		"AViolationThatStaysIsItsOwn":      {[]error{postgresError("23505")}, 3, postgresError("23505")},
		"AConflictThatStaysIsGivenUp":      {[]error{postgresError("40001")}, gormstore.MaxAttempts, ports.ErrUnavailable},
		"RollbackRaceIsRetried":            {[]error{&pgconn.PgError{Code: "XX000", Routine: "MultiXactIdCreateFromMembers"}, nil}, 2, nil},
		"AnInternalErrorIsFinal":           {[]error{postgresError("XX000")}, 1, postgresError("XX000")},
		"AnyOtherFaultIsFinal":             {[]error{postgresError("42601")}, 1, postgresError("42601")},
		"AnAnswerIsFinalWhateverItsCause":  {[]error{fmt.Errorf("%w: %w", lists.ErrNameTaken, postgresError("23505"))}, 1, lists.ErrNameTaken},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				attempts := 0
				err := gormstore.Retried(t.Context(), func() error {
					attempts++
					return c.fails[min(attempts, len(c.fails))-1]
				})
				assert.Equal(t, c.attempts, attempts)
				var want *pgconn.PgError
				switch {
				case c.want == nil:
					require.NoError(t, err)
				case errors.As(c.want, &want):
					assert.ErrorContains(t, err, want.Code)
				default:
					require.ErrorIs(t, err, c.want)
				}
			})
		})
	}
	t.Run("AContextThatEndsEndsIt", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			attempts := 0
			err := gormstore.Retried(ctx, func() error {
				if attempts++; attempts == 2 {
					cancel()
				}
				return postgresError("40001")
			})
			require.ErrorIs(t, err, context.Canceled)
			assert.Equal(t, 2, attempts)
		})
	})
}
