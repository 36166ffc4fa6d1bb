package app_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAWorkerIsHeardOfWhileItWorks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(0, nil)
		set := settings()
		set.Version = "1.2.3"
		work(t, q, fakeDriver{}, plainComposer{}, set, func() {
			let(10 * time.Minute)
			there := q.presence()
			require.Len(t, there, 1)
			assert.Equal(t, []string{"w1", "host:1", "1.2.3"}, []string{there[0].Owner, there[0].Instance, there[0].Version})
			assert.False(t, there[0].Lost(time.Now()), "it is heard of again and again")
			assert.Greater(t, there[0].Seen.Sub(there[0].Started), 9*time.Minute)
		})
		assert.Empty(t, q.presence(), "it takes leave")
	})
}
