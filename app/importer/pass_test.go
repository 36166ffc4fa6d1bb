package importer

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/imports"
	"github.com/tocsin/tocsin/domain/users"
)

// TestInterruptedPassDropsTheEnd ends the context while chunks are being written. What is dropped
// comes after what is written, whichever goroutine runs first.
func TestInterruptedPassDropsTheEnd(t *testing.T) {
	t.Parallel()
	for range 10_000 {
		ctx, stop := context.WithCancel(t.Context())
		var mu sync.Mutex
		var written []int // lines
		p := filePass{writers: writers, write: func(_ context.Context, c chunk) (outcome, error) {
			stop()
			mu.Lock()
			defer mu.Unlock()
			if c.rows[0].Line == 0 && len(c.rows) > 1 {
				return outcome{}, users.ErrTooLarge // It is written in halves.
			}
			for _, row := range c.rows {
				written = append(written, row.Line)
			}
			return outcome{}, nil
		}}
		chunks := make(chan chunk, 4)
		for line := range cap(chunks) {
			chunks <- chunk{rows: []imports.Row{{Line: 2 * line}, {Line: 2*line + 1}}, enrollments: make([]users.Enrollment, 2)}
		}
		close(chunks)
		for w := range p.writeAll(ctx, chunks) {
			if err := <-w.end; err != nil {
				require.ErrorIs(t, err, context.Canceled)
			}
		}
		slices.Sort(written)
		for n, line := range written {
			require.Equal(t, n, line, "lines %v are written", written)
		}
	}
}
