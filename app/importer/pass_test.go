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
		var written []int // the lines of chunks
		p := filePass{writers: writers, write: func(_ context.Context, c chunk) (outcome, error) {
			stop()
			mu.Lock()
			defer mu.Unlock()
			written = append(written, c.rows[0].Line)
			return outcome{}, nil
		}}
		chunks := make(chan chunk, 4)
		for line := range cap(chunks) {
			chunks <- chunk{rows: []imports.Row{{Line: line}}, enrollments: make([]users.Enrollment, 1)}
		}
		close(chunks)
		for w := range p.writeAll(ctx, chunks) {
			if err := <-w.end; err != nil {
				require.ErrorIs(t, err, context.Canceled)
			}
		}
		slices.Sort(written)
		for n, line := range written {
			require.Equal(t, n, line, "chunks %v are written", written)
		}
	}
}
