package gormstore_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
	"github.com/tocsin/tocsin/test/databases"
)

// pageOfFew is how many recipients a page has in these tests.
const pageOfFew = 3

// household is a post with a second channel for e-mail. Its members have one address
// each, which is on the list.
type household struct {
	*post
	second channels.Channel
	held   []users.Address
}

func newHousehold(t *testing.T, s *gormstore.Store, people int) *household {
	t.Helper()
	h := &household{post: newPost(t, s)}
	require.NoError(t, s.Update(t.Context(), func(tx ports.Tx) (err error) {
		h.second, err = tx.Channels().Create(t.Context(), channels.Channel{Organization: h.occurs.Organization, Name: "Spare", Protocol: channels.EMAIL, Driver: "smtp", Active: true})
		require.NoError(t, err)
		_, err = tx.Events().SaveTemplate(t.Context(), h.event, events.Template{Channel: h.second.ID, Subject: "S", Text: "T"}, "eva")
		return err
	}))
	h.held = append(h.held, h.address)
	for n := range people - 1 {
		h.join(t, fmt.Sprintf("person%d@example.org", n))
	}
	return h
}

// join adds a member with an address of this value.
func (h *household) join(t *testing.T, value string) {
	t.Helper()
	require.NoError(t, h.Update(t.Context(), func(tx ports.Tx) error {
		_, address := joined(t.Context(), t, tx, h.occurs.Organization, fmt.Sprintf("member%d@example.org", len(h.held)), value)
		h.held = append(h.held, address)
		return nil
	}))
	h.assign(t, h.held[len(h.held)-1], h.channel)
}

// assign adds an address to the list, with an assignment to a channel.
func (h *household) assign(t *testing.T, a users.Address, through channels.Channel) {
	t.Helper()
	require.NoError(t, h.Update(t.Context(), func(tx ports.Tx) error {
		assigned, _, err := tx.Assignments().Ensure(t.Context(), h.occurs.Organization, []channels.Assignment{channels.Assign(a, through)})
		require.NoError(t, err)
		_, err = tx.Lists().Add(t.Context(), h.list, []channels.AssignmentID{assigned[0].ID})
		return err
	}))
}

// expandAll expands until nothing is left, and returns how many deliveries each page wrote. It
// waits for an occurrence that a lost connection still holds.
func (h *household) expandAll(t *testing.T) (pages []int) {
	t.Helper()
	for h.waits(t) {
		done, err := h.Queue().Expand(t.Context(), deliveries.AllOccurrences, pageOfFew)
		if errors.Is(err, deliveries.ErrNothingToDo) {
			continue
		}
		require.NoError(t, err)
		pages = append(pages, done.Deliveries)
	}
	return pages
}

// someWait is a query for whether an occurrence is not expanded yet.
const someWait = "SELECT EXISTS (SELECT 1 FROM occurrences WHERE expanded_at IS NULL)"

// waits reports whether an occurrence is not expanded yet.
func (h *household) waits(t *testing.T) bool {
	t.Helper()
	var waits bool
	require.NoError(t, h.Handle().QueryRowContext(t.Context(), someWait).Scan(&waits))
	return waits
}

// assertOnce asserts that each address has one delivery, and that all are counted.
func (h *household) assertOnce(t *testing.T, addresses int) {
	t.Helper()
	assert.Equal(t, []string{fmt.Sprintf("%d %[1]d %[1]d", addresses)}, lines(t, h.Handle(), 0,
		"SELECT COUNT(*) || ' ' || COUNT(DISTINCT address_key) || ' ' || (SELECT SUM(pending) FROM occurrence_tallies) FROM deliveries"))
}

// TestDuplicateAddress is about a second assignment of an address, or a second member with it, in
// the page of the first one or in a later page.
func TestDuplicateAddress(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]struct {
		people int
		meet   func(t *testing.T, h *household)
		twice  bool
	}{
		"never":                  {5, func(*testing.T, *household) {}, false},
		"in the same page":       {5, func(t *testing.T, h *household) { h.assign(t, h.held[4], h.second) }, true},
		"in a later page":        {4, func(t *testing.T, h *household) { h.assign(t, h.held[0], h.second) }, true},
		"at another member":      {5, func(t *testing.T, h *household) { h.join(t, "PERSON0@example.org") }, true},
		"by everybody, in pages": {4, func(t *testing.T, h *household) { h.assignAll(t) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHousehold(t, open(t, databases.Postgres(t)), again.people)
			again.meet(t, h)
			for range 2 { // The second time it is known.
				h.trigger(t, nil, nil)
				written := 0
				for _, n := range h.expandAll(t) {
					written += n
				}
				assert.Equal(t, again.people, written)
				h.assertOnce(t, again.people)
				assert.Equal(t, again.twice, h.AddressedTwice(h.occurs.Organization))
				exec(t, h.Store, "DELETE FROM deliveries; DELETE FROM occurrence_tallies")
			}
		})
	}
}

// assignAll assigns everybody's addresses to both channels.
func (h *household) assignAll(t *testing.T) {
	t.Helper()
	for _, a := range h.held {
		h.assign(t, a, h.second)
	}
}

// TestRecipientAddedDuringExpansion adds recipients between two pages: a new address, and
// one that has its delivery already.
func TestRecipientAddedDuringExpansion(t *testing.T) {
	t.Parallel()
	h := newHousehold(t, open(t, databases.Postgres(t)), 4)
	h.trigger(t, nil, nil)
	done, err := h.Queue().Expand(t.Context(), deliveries.AllOccurrences, pageOfFew)
	require.NoError(t, err)
	require.Equal(t, 3, done.Deliveries)
	h.join(t, "late@example.org")
	h.assign(t, h.held[0], h.second)
	h.expandAll(t)
	h.assertOnce(t, 5)
}

// TestExpandAfterLostConnection ends the connection of a page at its commit.
func TestExpandAfterLostConnection(t *testing.T) {
	t.Parallel()
	h := newHousehold(t, open(t, databases.Postgres(t)), 5)
	h.trigger(t, nil, nil)
	exec(t, h.Store, `CREATE SEQUENCE crashes;
		CREATE FUNCTION crash() RETURNS TRIGGER LANGUAGE plpgsql AS
			'BEGIN IF nextval(''crashes'') = 2 THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF; RETURN NULL; END';
		CREATE CONSTRAINT TRIGGER crashes AFTER UPDATE ON occurrences DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION crash()`)
	done, err := h.Queue().Expand(t.Context(), deliveries.AllOccurrences, pageOfFew)
	require.NoError(t, err)
	require.Equal(t, 3, done.Deliveries)
	_, err = h.Queue().Expand(t.Context(), deliveries.AllOccurrences, pageOfFew)
	require.ErrorIs(t, err, ports.ErrUnavailable)
	h.expandAll(t)
	h.assertOnce(t, 5)
	assert.False(t, h.AddressedTwice(h.occurs.Organization), "nothing of the lost page was left")
}

// TestExpandExistingPage is about an expansion that starts again.
func TestExpandExistingPage(t *testing.T) {
	t.Parallel()
	h := newHousehold(t, open(t, databases.Postgres(t)), 5)
	h.trigger(t, nil, nil)
	h.expandAll(t)
	exec(t, h.Store, "UPDATE occurrences SET expanded_at = NULL, cursor_notification = 0, cursor_phase = 0, cursor_assignment = 0")
	for _, n := range h.expandAll(t) {
		assert.Zero(t, n)
	}
	h.assertOnce(t, 5)
}

// TestWorkersShareAnOccurrence is about two instances that expand one occurrence, in which
// addresses occur twice.
func TestWorkersShareAnOccurrence(t *testing.T) {
	t.Parallel()
	const people = 20
	address := databases.Postgres(t)
	h := newHousehold(t, open(t, address), people)
	h.assignAll(t)
	h.trigger(t, nil, nil)
	var workers sync.WaitGroup
	for _, s := range []*gormstore.Store{h.Store, open(t, address)} {
		workers.Go(func() {
			for waits := true; waits && !t.Failed(); {
				_, err := s.Queue().Expand(context.Background(), deliveries.AllOccurrences, pageOfFew)
				if !errors.Is(err, deliveries.ErrNothingToDo) {
					assert.NoError(t, err)
				}
				assert.NoError(t, s.Handle().QueryRowContext(context.Background(), someWait).Scan(&waits))
			}
		})
	}
	workers.Wait()
	h.assertOnce(t, people)
}
