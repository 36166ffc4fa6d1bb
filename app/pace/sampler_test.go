package pace_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/app/pace"
)

func TestSampler(t *testing.T) {
	t.Parallel()
	s := pace.NewSampler(2)
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		after time.Duration
		pass  bool
		held  int
	}{
		{0, true, 0},
		{time.Second, true, 0},
		{time.Second, false, 0},
		{57 * time.Second, false, 0},
		{time.Second, true, 2},
		{59 * time.Second, true, 0},
		{0, false, 0},
	} {
		now = now.Add(c.after)
		pass, held := s.Pass(now)
		assert.Equal(t, c.pass, pass, now)
		assert.Equal(t, c.held, held, now)
	}
	assert.Equal(t, 1, s.Held())
}
