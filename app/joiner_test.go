package app_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/ports"
)

var errWanted = errors.New("wanted")

// desk is a joiner whose workers for `acme` are all busy with a first set each, and the record of the sets that came after those.
type desk struct {
	app.Joiner
	hold    chan struct{}
	callers sync.WaitGroup
	mu      sync.Mutex
	sets    [][]string                                         // key, then subjects
	work    func(ctx context.Context, subjects []string) error // on every set that is recorded
}

// atDesk runs a test in a bubble, where synctest.Wait returns once everybody has come to stand in line.
func atDesk(t *testing.T, test func(*testing.T, *desk)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &desk{hold: make(chan struct{}), work: func(context.Context, []string) error { return nil }}
		d.Joiner = app.NewJoiner(d.serve)
		for i := range app.JoinWorkers {
			d.send(t.Context(), "acme", fmt.Sprint("busy", i))
		}
		test(t, d)
		d.callers.Wait()
		synctest.Wait()
		assert.True(t, d.Idle(), "nothing is left when everybody has gone")
	})
}

func (d *desk) serve(ctx context.Context, key string, calls []*app.Call) error {
	subjects := make([]string, len(calls))
	for i, c := range calls {
		subjects[i] = c.Subject
		c.Answer = "answer to " + c.Subject
	}
	if len(subjects) == 1 && len(subjects[0]) > 4 && subjects[0][:4] == "busy" {
		<-d.hold
		return nil
	}
	d.mu.Lock()
	d.sets = append(d.sets, append([]string{key}, subjects...))
	d.mu.Unlock()
	return d.work(ctx, subjects)
}

type answer struct {
	text string
	err  error
}

// send puts a caller in line.
func (d *desk) send(ctx context.Context, key, subject string) <-chan answer {
	a := make(chan answer, 1)
	d.callers.Go(func() {
		c := &app.Call{Subject: subject}
		if err := d.Do(ctx, key, c); err != nil {
			a <- answer{err: err}
			return
		}
		a <- answer{text: c.Answer}
	})
	synctest.Wait()
	return a
}

func (d *desk) release() {
	close(d.hold)
	d.callers.Wait()
}

func TestJoinerJoinsWhoWaits(t *testing.T) {
	atDesk(t, func(t *testing.T, d *desk) {
		var answers []<-chan answer
		for i := range 5 {
			answers = append(answers, d.send(t.Context(), "acme", fmt.Sprint("p", i)))
		}
		d.release()
		for i, a := range answers {
			assert.Equal(t, answer{text: fmt.Sprint("answer to p", i)}, <-a, "everybody gets their own answer")
		}
		assert.Equal(t, [][]string{{"acme", "p0", "p1", "p2", "p3", "p4"}}, d.sets)
	})
}

func TestJoinerServesOtherKeysMeanwhile(t *testing.T) {
	atDesk(t, func(t *testing.T, d *desk) {
		assert.Equal(t, answer{text: "answer to p"}, <-d.send(t.Context(), "globex", "p"))
		assert.Equal(t, [][]string{{"globex", "p"}}, d.sets)
		d.release()
	})
}

func TestJoinerBoundsItsSets(t *testing.T) {
	atDesk(t, func(t *testing.T, d *desk) {
		for i := range app.MaxJoined + 1 {
			d.send(t.Context(), "acme", fmt.Sprint("p", i))
		}
		d.release()
		sizes := []int{}
		for _, set := range d.sets {
			sizes = append(sizes, len(set)-1)
		}
		slices.Sort(sizes)
		assert.Equal(t, []int{1, app.MaxJoined}, sizes)
	})
}

func TestJoinerHasASubjectOnceInASet(t *testing.T) {
	atDesk(t, func(t *testing.T, d *desk) {
		for _, subject := range []string{"ada", "bob", "ada", "eve", "ada"} {
			d.send(t.Context(), "acme", subject)
		}
		d.release()
		slices.SortFunc(d.sets, func(a, b []string) int { return len(b) - len(a) })
		assert.Equal(t, [][]string{{"acme", "ada", "bob", "eve"}, {"acme", "ada"}, {"acme", "ada"}}, d.sets)
	})
}

func TestJoinerServesASetThatFailsOneByOne(t *testing.T) {
	for name, fail := range map[string]func() error{
		"WithAnError": func() error { return errWanted },
		"WithAPanic":  func() error { panic("wanted") },
	} {
		t.Run(name, func(t *testing.T) {
			atDesk(t, func(t *testing.T, d *desk) {
				d.work = func(_ context.Context, subjects []string) error {
					if slices.Contains(subjects, "bad") {
						return fail()
					}
					return nil
				}
				good, bad := d.send(t.Context(), "acme", "good"), d.send(t.Context(), "acme", "bad")
				d.release()
				assert.Equal(t, answer{text: "answer to good"}, <-good)
				assert.ErrorContains(t, (<-bad).err, "wanted")
				assert.Equal(t, [][]string{{"acme", "good", "bad"}, {"acme", "good"}, {"acme", "bad"}}, d.sets)
			})
		})
	}
}

func TestJoinerTriesNobodyAgainWhileTheStoreIsAway(t *testing.T) {
	atDesk(t, func(t *testing.T, d *desk) {
		d.work = func(context.Context, []string) error { return fmt.Errorf("%w: gone", ports.ErrUnavailable) }
		one, other := d.send(t.Context(), "acme", "one"), d.send(t.Context(), "acme", "other")
		d.release()
		require.ErrorIs(t, (<-one).err, ports.ErrUnavailable)
		require.ErrorIs(t, (<-other).err, ports.ErrUnavailable)
		assert.Len(t, d.sets, 1)
	})
}

func TestJoinerForgetsWhoGivesUpWhileWaiting(t *testing.T) {
	atDesk(t, func(t *testing.T, d *desk) {
		ctx, cancel := context.WithCancel(t.Context())
		gone := d.send(ctx, "acme", "gone")
		stays := d.send(t.Context(), "acme", "stays")
		cancel()
		require.ErrorIs(t, (<-gone).err, context.Canceled)
		d.release()
		assert.Equal(t, answer{text: "answer to stays"}, <-stays)
		assert.Equal(t, [][]string{{"acme", "stays"}}, d.sets)
	})
}

func TestJoinerWantsASetAsLongAsAnybodyWaitsForIt(t *testing.T) {
	atDesk(t, func(t *testing.T, d *desk) {
		sets, proceed := make(chan context.Context), make(chan struct{})
		d.work = func(ctx context.Context, _ []string) error {
			sets <- ctx
			<-proceed
			return nil
		}
		one, endOne := context.WithCancel(t.Context())
		other, endOther := context.WithCancel(t.Context())
		d.send(one, "acme", "one")
		d.send(other, "acme", "other")
		close(d.hold)
		set := <-sets
		endOne()
		synctest.Wait()
		require.NoError(t, set.Err())
		endOther()
		synctest.Wait()
		require.Error(t, set.Err())
		close(proceed)
	})
}
