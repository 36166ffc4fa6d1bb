package gormstore_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// desk is a joiner with one worker, busy with a first caller, and the record of the sets it was asked to write.
type desk struct {
	gormstore.Joiner
	hold    chan struct{}
	callers sync.WaitGroup
	sets    [][]string                                     // organization, then e-mails
	work    func(ctx context.Context, b users.Batch) error // on every set but the first
}

// atDesk runs a test in a bubble, where synctest.Wait returns once everybody has come to stand in line.
func atDesk(t *testing.T, test func(*testing.T, *desk)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &desk{hold: make(chan struct{}), work: func(context.Context, users.Batch) error { return nil }}
		d.Joiner = gormstore.StartJoiner(1, d.enroll)
		defer d.Stop()
		d.send(t.Context(), "acme", "first")
		test(t, d)
	})
}

func (d *desk) enroll(ctx context.Context, org string, b users.Batch) ([]users.Enrolled, error) {
	set := []string{org}
	done := make([]users.Enrolled, len(b.Enrollments))
	for i, e := range b.Enrollments {
		set = append(set, e.Email)
		done[i].Member.User.Email = e.Email
	}
	d.sets = append(d.sets, set)
	if len(d.sets) == 1 {
		<-d.hold
		return done, nil
	}
	return done, d.work(ctx, b)
}

type answer struct {
	email string
	err   error
}

// send puts a caller in line.
func (d *desk) send(ctx context.Context, org, email string) <-chan answer {
	c := make(chan answer, 1)
	d.callers.Go(func() {
		done, err := d.Enroll(ctx, org, users.Batch{Enrollments: []users.Enrollment{{Email: email}}})
		if err != nil {
			c <- answer{err: err}
			return
		}
		c <- answer{email: done[0].Member.User.Email}
	})
	synctest.Wait()
	return c
}

func (d *desk) release() {
	close(d.hold)
	d.callers.Wait()
}

func TestWhoWaitsIsJoined(t *testing.T) {
	atDesk(t, func(t *testing.T, d *desk) {
		var answers []<-chan answer
		for i := range 5 {
			answers = append(answers, d.send(t.Context(), "acme", fmt.Sprint("p", i)))
		}
		d.release()
		for i, a := range answers {
			assert.Equal(t, answer{email: fmt.Sprint("p", i)}, <-a, "everybody gets their own answer")
		}
		assert.Equal(t, [][]string{{"acme", "first"}, {"acme", "p0", "p1", "p2", "p3", "p4"}}, d.sets)
	})
}

func TestASetHasOneOrganizationAndIsBounded(t *testing.T) {
	atDesk(t, func(t *testing.T, d *desk) {
		for i := range gormstore.MaxJoined + 1 {
			d.send(t.Context(), []string{"acme", "globex"}[i%2], fmt.Sprint("p", i))
		}
		d.release()
		var sizes []int
		for _, set := range d.sets[1:] {
			sizes = append(sizes, len(set)-1)
			for _, email := range set[1:] {
				var n int
				_, err := fmt.Sscanf(email, "p%d", &n)
				require.NoError(t, err)
				assert.Equal(t, []string{"acme", "globex"}[n%2], set[0])
			}
		}
		slices.Sort(sizes)
		assert.Equal(t, []int{1, gormstore.MaxJoined / 2, gormstore.MaxJoined / 2}, sizes)
	})
}

func TestASetThatFailsIsTriedOneByOne(t *testing.T) {
	atDesk(t, func(t *testing.T, d *desk) {
		d.work = func(_ context.Context, b users.Batch) error {
			if slices.ContainsFunc(b.Enrollments, func(e users.Enrollment) bool { return e.Email == "bad" }) {
				return errWanted
			}
			return nil
		}
		good, bad := d.send(t.Context(), "acme", "good"), d.send(t.Context(), "acme", "bad")
		d.release()
		assert.Equal(t, answer{email: "good"}, <-good)
		require.ErrorIs(t, (<-bad).err, errWanted)
		assert.Equal(t, [][]string{{"acme", "first"}, {"acme", "good", "bad"}, {"acme", "good"}, {"acme", "bad"}}, d.sets)
	})
}

func TestAFaultThatIsEverybodysIsNotTriedAgain(t *testing.T) {
	for _, fault := range []error{orgs.ErrNotFound, ports.ErrUnavailable, context.DeadlineExceeded} {
		t.Run(fault.Error(), func(t *testing.T) {
			atDesk(t, func(t *testing.T, d *desk) {
				d.work = func(context.Context, users.Batch) error { return fault }
				one, other := d.send(t.Context(), "acme", "one"), d.send(t.Context(), "acme", "other")
				d.release()
				require.ErrorIs(t, (<-one).err, fault)
				require.ErrorIs(t, (<-other).err, fault)
				assert.Len(t, d.sets, 2)
			})
		})
	}
}

func TestWhoGivesUpWhileWaitingIsNotEnrolled(t *testing.T) {
	atDesk(t, func(t *testing.T, d *desk) {
		ctx, cancel := context.WithCancel(t.Context())
		gone := d.send(ctx, "acme", "gone")
		stays := d.send(t.Context(), "acme", "stays")
		cancel()
		require.ErrorIs(t, (<-gone).err, context.Canceled)
		d.release()
		assert.Equal(t, answer{email: "stays"}, <-stays)
		assert.Equal(t, []string{"acme", "stays"}, d.sets[1])
	})
}

func TestASetIsWantedAsLongAsAnybodyWaitsForIt(t *testing.T) {
	atDesk(t, func(t *testing.T, d *desk) {
		sets, proceed := make(chan context.Context), make(chan struct{})
		d.work = func(ctx context.Context, _ users.Batch) error {
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
		d.callers.Wait()
	})
}
