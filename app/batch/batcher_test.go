package batch_test

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

	"github.com/tocsin/tocsin/app/batch"
	"github.com/tocsin/tocsin/ports"
)

var errWanted = errors.New("wanted")

// call has a subject and gets an answer.
type call struct {
	subject, answer string
	weight          int
}

// fixture is a batcher whose workers for `acme` are all busy with a first batch. It records the
// batches after those.
type fixture struct {
	*batch.Batcher[string, call]
	hold    chan struct{}
	callers sync.WaitGroup
	mu      sync.Mutex
	batches [][]string                                         // key, then subjects
	work    func(ctx context.Context, subjects []string) error // on every recorded batch
}

// inBubble runs a test with one worker and with two, each in a bubble, where synctest.Wait returns
// once every caller waits.
func inBubble(t *testing.T, test func(*testing.T, *fixture)) {
	t.Helper()
	t.Parallel()
	for name, workers := range map[string]batch.Workers{"Single": batch.Single, "Pair": batch.Pair} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := &fixture{hold: make(chan struct{}), work: func(context.Context, []string) error { return nil }}
				d.Batcher = batch.New(workers, d.serve, func(c *call) string { return c.subject }, func(c *call) int { return c.weight })
				for i := range workers {
					d.send(t.Context(), "acme", fmt.Sprint("busy", i))
				}
				test(t, d)
				d.callers.Wait()
				synctest.Wait()
				assert.True(t, d.Idle(), "nothing is left when all callers have gone")
			})
		})
	}
}

func (d *fixture) serve(ctx context.Context, key string, calls []*call) error {
	subjects := make([]string, len(calls))
	for i, c := range calls {
		subjects[i] = c.subject
		c.answer = "answer to " + c.subject
	}
	if len(subjects) == 1 && len(subjects[0]) > 4 && subjects[0][:4] == "busy" {
		<-d.hold
		return nil
	}
	d.mu.Lock()
	d.batches = append(d.batches, append([]string{key}, subjects...))
	d.mu.Unlock()
	return d.work(ctx, subjects)
}

type answer struct {
	text string
	err  error
}

// send makes a call and returns once it waits or has an answer.
func (d *fixture) send(ctx context.Context, key, subject string) <-chan answer {
	return d.sendHeavy(ctx, key, subject, 0)
}

// sendHeavy is send of a call with a weight.
func (d *fixture) sendHeavy(ctx context.Context, key, subject string, weight int) <-chan answer {
	a := make(chan answer, 1)
	d.callers.Go(func() {
		c := &call{subject: subject, weight: weight}
		if err := d.Do(ctx, key, c); err != nil {
			a <- answer{err: err}
			return
		}
		a <- answer{text: c.answer}
	})
	synctest.Wait()
	return a
}

func (d *fixture) release() {
	close(d.hold)
	d.callers.Wait()
}

func TestCallsThatWaitBecomeABatch(t *testing.T) {
	inBubble(t, func(t *testing.T, d *fixture) {
		var answers []<-chan answer
		for i := range 5 {
			answers = append(answers, d.send(t.Context(), "acme", fmt.Sprint("p", i)))
		}
		d.release()
		for i, a := range answers {
			assert.Equal(t, answer{text: fmt.Sprint("answer to p", i)}, <-a, "each caller gets its own answer")
		}
		assert.Equal(t, [][]string{{"acme", "p0", "p1", "p2", "p3", "p4"}}, d.batches)
	})
}

func TestOtherKeysAreServedMeanwhile(t *testing.T) {
	inBubble(t, func(t *testing.T, d *fixture) {
		assert.Equal(t, answer{text: "answer to p"}, <-d.send(t.Context(), "globex", "p"))
		assert.Equal(t, [][]string{{"globex", "p"}}, d.batches)
		d.release()
	})
}

func TestBatchesAreBounded(t *testing.T) {
	inBubble(t, func(t *testing.T, d *fixture) {
		for i := range batch.MaxSize + 1 {
			d.send(t.Context(), "acme", fmt.Sprint("p", i))
		}
		d.release()
		sizes := []int{}
		for _, b := range d.batches {
			sizes = append(sizes, len(b)-1)
		}
		slices.Sort(sizes)
		assert.Equal(t, []int{1, batch.MaxSize}, sizes)
	})
}

func TestWeightOfBatchIsBounded(t *testing.T) {
	inBubble(t, func(t *testing.T, d *fixture) {
		d.sendHeavy(t.Context(), "acme", "p", 1)
		d.sendHeavy(t.Context(), "acme", "too heavy", batch.MaxWeight+1)
		d.sendHeavy(t.Context(), "acme", "q", batch.MaxWeight-1)
		d.sendHeavy(t.Context(), "acme", "r", 1)
		d.send(t.Context(), "acme", "weightless")
		d.release()
		slices.SortFunc(d.batches, slices.Compare)
		assert.Equal(t, [][]string{{"acme", "p", "q", "weightless"}, {"acme", "r"}, {"acme", "too heavy"}}, d.batches)
	})
}

func TestSubjectOncePerBatch(t *testing.T) {
	inBubble(t, func(t *testing.T, d *fixture) {
		for _, subject := range []string{"ada", "bob", "ada", "eve", "ada"} {
			d.send(t.Context(), "acme", subject)
		}
		d.release()
		slices.SortFunc(d.batches, func(a, b []string) int { return len(b) - len(a) })
		assert.Equal(t, [][]string{{"acme", "ada", "bob", "eve"}, {"acme", "ada"}, {"acme", "ada"}}, d.batches)
	})
}

func TestCallsWithoutASubjectShareABatch(t *testing.T) {
	inBubble(t, func(t *testing.T, d *fixture) {
		for range 3 {
			d.send(t.Context(), "acme", "")
		}
		d.release()
		assert.Equal(t, [][]string{{"acme", "", "", ""}}, d.batches)
	})
}

func TestBatchFailure(t *testing.T) {
	for name, fail := range map[string]func() error{
		"WithAnError": func() error { return errWanted },
		"WithAPanic":  func() error { panic("wanted") },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, d *fixture) {
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
				assert.Equal(t, [][]string{{"acme", "good", "bad"}, {"acme", "good"}, {"acme", "bad"}}, d.batches)
			})
		})
	}
}

// TestBatchPanicStack checks that the error of a panic says where it happened.
func TestBatchPanicStack(t *testing.T) {
	inBubble(t, func(t *testing.T, d *fixture) {
		d.work = func(context.Context, []string) error { panic("wanted") }
		bad := d.send(t.Context(), "acme", "bad")
		d.release()
		assert.ErrorContains(t, (<-bad).err, "TestBatchPanicStack")
	})
}

func TestBatchStoreUnavailable(t *testing.T) {
	inBubble(t, func(t *testing.T, d *fixture) {
		d.work = func(context.Context, []string) error { return fmt.Errorf("%w: gone", ports.ErrUnavailable) }
		one, other := d.send(t.Context(), "acme", "one"), d.send(t.Context(), "acme", "other")
		d.release()
		require.ErrorIs(t, (<-one).err, ports.ErrUnavailable)
		require.ErrorIs(t, (<-other).err, ports.ErrUnavailable)
		assert.Len(t, d.batches, 1)
	})
}

// TestBatchOfAnOrganization checks whose units of work those of a batch are.
func TestBatchOfAnOrganization(t *testing.T) {
	inBubble(t, func(t *testing.T, d *fixture) {
		var whose []string
		d.work = func(ctx context.Context, _ []string) error {
			whose = append(whose, ports.OrganizationOf(ctx))
			return nil
		}
		one := ports.ForOrganization(t.Context(), "one")
		d.send(one, "acme", "a")
		d.send(one, "acme", "b")
		d.release()
		d.callers.Wait()
		assert.Equal(t, []string{"one"}, whose)
	})
}

func TestCancelledWaitingCall(t *testing.T) {
	inBubble(t, func(t *testing.T, d *fixture) {
		ctx, cancel := context.WithCancel(t.Context())
		gone := d.send(ctx, "acme", "gone")
		stays := d.send(t.Context(), "acme", "stays")
		cancel()
		require.ErrorIs(t, (<-gone).err, context.Canceled)
		d.release()
		assert.Equal(t, answer{text: "answer to stays"}, <-stays)
		assert.Equal(t, [][]string{{"acme", "stays"}}, d.batches)
	})
}

func TestBatchCancelled(t *testing.T) {
	inBubble(t, func(t *testing.T, d *fixture) {
		batches, proceed := make(chan context.Context), make(chan struct{})
		d.work = func(ctx context.Context, _ []string) error {
			batches <- ctx
			<-proceed
			return nil
		}
		one, endOne := context.WithCancel(t.Context())
		other, endOther := context.WithCancel(t.Context())
		d.send(one, "acme", "one")
		d.send(other, "acme", "other")
		close(d.hold)
		running := <-batches
		endOne()
		synctest.Wait()
		require.NoError(t, running.Err())
		endOther()
		synctest.Wait()
		require.Error(t, running.Err())
		close(proceed)
	})
}

// unit is an empty unit of work.
type unit struct{ ports.Tx }

func TestCallWithinUnit(t *testing.T) {
	inBubble(t, func(t *testing.T, d *fixture) {
		waiting := d.send(t.Context(), "acme", "ada")
		d.work = func(ctx context.Context, _ []string) error {
			if _, within := ports.Unit(ctx); within {
				return errWanted
			}
			return nil
		}
		assert.Equal(t, answer{err: errWanted}, <-d.send(ports.Within(t.Context(), unit{}), "acme", "bob"))
		d.release()
		assert.Equal(t, answer{text: "answer to ada"}, <-waiting)
		assert.Equal(t, [][]string{{"acme", "bob"}, {"acme", "ada"}}, d.batches)
	})
}
