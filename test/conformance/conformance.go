// Package conformance checks a backend against the storage port: it has cases for every promise of
// ports.Store and of the domain's repositories that a backend could break. It uses only the port. A
// third backend is complete when it passes.
//
// Every case gets its own world: a store with two organizations with the same names. When a case
// ends, the organization that it did not touch must be unchanged, so every case checks tenancy,
// too.
package conformance

import (
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/ports"
)

// cases are the cases of one noun, by name.
type cases map[string]func(t *testing.T, w *world)

// nouns returns the whole suite.
func nouns() map[string]cases {
	return map[string]cases{
		"Store":             storeCases(),
		"Concurrency":       concurrencyCases(),
		"Orgs":              orgCases(),
		"Users":             userCases(),
		"Removal":           removalCases(),
		"Addresses":         addressCases(),
		"Channels":          channelCases(),
		"Assignments":       assignmentCases(),
		"Applications":      applicationCases(),
		"Memberships":       membershipCases(),
		"Lists":             listCases(),
		"Recipients":        recipientCases(),
		"Events":            eventCases(),
		"Templates":         templateCases(),
		"Partials":          partialCases(),
		"Outages":           outageCases(),
		"Pools":             poolCases(),
		"PoolsOfEvents":     eventPoolCases(),
		"PoolsLeft":         leavingPoolCases(),
		"PoolsOrder":        orderedPoolCases(),
		"Offload":           offloadCases(),
		"Limits":            shareCases(),
		"Rates":             rateCases(),
		"Quotas":            quotaCases(),
		"Notifications":     notificationCases(),
		"Subscriptions":     subscriptionCases(),
		"Triggers":          triggerCases(),
		"Expansion":         expansionCases(),
		"Gates":             gateCases(),
		"Sets":              setCases(),
		"Counted":           countedCases(),
		"Schedule":          scheduleCases(),
		"Cancel":            cancelCases(),
		"Installation":      installationCases(),
		"Forecasts":         forecastCases(),
		"Claims":            claimCases(),
		"Turns":             turnCases(),
		"Outcomes":          recordCases(),
		"Deliveries":        deliveryCases(),
		"Tallies":           tallyCases(),
		"Statistics":        statisticsCases(),
		"ChannelStatistics": channelStatisticsCases(),
		"Finding":           findCases(),
		"Occurrences":       occurrenceSelectionCases(),
		"OptOuts":           optOutCases(),
		"Mailbox":           mailboxCases(),
		"Units":             unitCases(),
		"Requests":          requestCases(),
		"Upkeep":            upkeepCases(),
		"Keys":              keyCases(),
		"Operators":         operatorCases(),
		"Factors":           factorCases(),
		"SignOn":            signonCases(),
		"Audit":             auditCases(),
		"Imports":           importCases(),
		"ImportFiles":       importFileCases(),
		"ImportUndo":        importUndoCases(),
		"Search":            searchCases(),
		"Words":             wordCases(),
		"Filters":           filterCases(),
		"Groups":            groupCases(),
		"Selections":        selectionCases(),
		"Profiles":          profileCases(),
		"Enroll":            enrollCases(),
		"EnrollMany":        enrollManyCases(),
		"Texts":             textCases(),
		"Races":             raceCases(),
		"Listed":            recipientSearchCases(),
		"Subscribers":       subscriberCases(),
		"Rotations":         rotationCases(),
		"Snoozes":           snoozeCases(),
	}
}

// Backend opens the stores of the suite, and registers functions that close them.
type Backend struct {
	// Empty opens a store with the schema and without rows.
	Empty func(t *testing.T) ports.Store
	// Furnish creates an empty store, calls fill, and returns a function that opens copies of the
	// store. So the suite creates the world of its cases only once. Without Furnish, each case
	// creates its own.
	Furnish func(t *testing.T, fill func(s ports.Store)) (open func(t *testing.T) ports.Store)
	// Only names the nouns whose cases run. Empty means all.
	Only []string
}

// Run runs the suite on a backend.
func Run(t *testing.T, b Backend) {
	t.Run("Empty", func(t *testing.T) {
		t.Parallel()
		emptyStore(t, b.Empty(t))
	})
	enter := b.furnished(t)
	all := nouns()
	for _, noun := range b.Only {
		require.Contains(t, all, noun)
	}
	for noun, promises := range all {
		if len(b.Only) > 0 && !slices.Contains(b.Only, noun) {
			continue
		}
		t.Run(noun, func(t *testing.T) {
			t.Parallel()
			for _, promise := range slices.Sorted(maps.Keys(promises)) {
				t.Run(promise, func(t *testing.T) {
					t.Parallel()
					w := enter(t)
					promises[promise](t, w)
					w.unchanged(t, w.theirs, w.before, "a bystander was touched")
				})
			}
		})
	}
}

// furnished returns a function that opens a case's own world.
func (b Backend) furnished(t *testing.T) func(t *testing.T) *world {
	t.Helper()
	if b.Furnish == nil {
		return func(t *testing.T) *world {
			t.Helper()
			return newWorld(t, b.Empty(t))
		}
	}
	var first *world
	open := b.Furnish(t, func(s ports.Store) { first = newWorld(t, s) })
	require.NotNil(t, first, "Furnish did not call fill")
	return func(t *testing.T) *world {
		t.Helper()
		return first.in(open(t)).apart()
	}
}

// look returns the result of fn in its own View.
func look[T any](t *testing.T, w *world, fn func(tx ports.Tx) (T, error)) T {
	t.Helper()
	var found T
	require.NoError(t, w.View(t.Context(), func(tx ports.Tx) (err error) {
		found, err = fn(tx)
		return err
	}))
	return found
}

// do returns the result of fn in its own Update.
func do[T any](t *testing.T, w *world, fn func(tx ports.Tx) (T, error)) T {
	t.Helper()
	var done T
	require.NoError(t, w.Update(t.Context(), func(tx ports.Tx) (err error) {
		done, err = fn(tx)
		return err
	}))
	return done
}

// act is do for functions without a result.
func act(t *testing.T, w *world, fn func(tx ports.Tx) error) {
	t.Helper()
	require.NoError(t, w.Update(t.Context(), fn))
}

// refused checks that an Update ends with this fault.
func refused(t *testing.T, w *world, want error, fn func(tx ports.Tx) error) {
	t.Helper()
	require.Error(t, refusal(t, w, want, fn))
}

// refusal is refused for faults whose text is checked, too.
func refusal(t *testing.T, w *world, want error, fn func(tx ports.Tx) error) error {
	t.Helper()
	err := w.Update(t.Context(), fn)
	require.ErrorIs(t, err, want)
	return err
}

// missing checks that a View ends with this fault.
func missing[T any](t *testing.T, w *world, want error, fn func(tx ports.Tx) (T, error)) {
	t.Helper()
	require.ErrorIs(t, w.View(t.Context(), func(tx ports.Tx) error {
		_, err := fn(tx)
		return err
	}), want)
}

// together calls fn n times at once and returns what the calls returned, by number.
func together[T any](n int, fn func(i int) T) []T {
	results := make([]T, n)
	var begin, done sync.WaitGroup
	begin.Add(1)
	for i := range n {
		done.Go(func() {
			begin.Wait()
			results[i] = fn(i)
		})
	}
	begin.Done()
	done.Wait()
	return results
}

// listing is a method that lists by id, at most limit after the given one.
type listing[T any, ID ~int64] func(tx ports.Tx, after ID, limit int) ([]T, error)

// everything returns a complete listing.
func everything[T any, ID ~int64](tx ports.Tx, list listing[T, ID]) ([]T, error) {
	return list(tx, 0, 1_000)
}

// paged checks that a listing is exactly want, ordered by id, and that it is the same in pages of
// every size, without gaps and duplicates.
func paged[T any, ID ~int64](t *testing.T, w *world, id func(T) ID, want []T, list listing[T, ID]) {
	t.Helper()
	require.Equal(t, want, look(t, w, func(tx ports.Tx) ([]T, error) { return everything(tx, list) }))
	for size := 1; size <= len(want)+1; size++ {
		var after ID
		for rest := want; ; {
			page := look(t, w, func(tx ports.Tx) ([]T, error) { return list(tx, after, size) })
			n := min(size, len(rest))
			require.Len(t, page, n, "pages of %d after %d", size, after)
			if n == 0 {
				break
			}
			require.Equal(t, rest[:n], page, "pages of %d after %d", size, after)
			rest, after = rest[n:], id(page[n-1])
		}
	}
}

// spelling is a pair of names, and whether they are the same without regard to case.
type spelling struct {
	first, second string
	same          bool
}

// spellings are pairs that databases often compare wrongly.
func spellings() []spelling {
	return []spelling{
		{"journal", "JourNAL", true},
		{"\u00c9cole", "e\u0301COLE", true},    // É composed, é decomposed
		{"\u0130zmir", "I\u0307ZMIR", true},    // dotted capital I
		{"straße", "STRA\u1e9eE", true},        // capital sharp s
		{"maße", "MASSE", false},               // which is not ss
		{"ΟΔΟΣ", "οδοσ", true},                 // sigma
		{"ΦΩΣ", "φως", false},                  // but not final sigma
		{"ЖУК", "жук", true},                   // another script
		{"𐐀𐐁", "𐐨𐐩", true},                     // beyond the basic plane
		{"\u212aelvin", "kelvin", true},        // the Kelvin sign
		{"cafe", "café", false},                // accents count
		{"a_c", "abc", false},                  // wildcards of LIKE
		{"10%", "100", false},                  //
		{`back\slash`, `back\\slash`, false},   // escapes
		{"it's", "its", false},                 // quotes
		{"{a,b}", `{"a","b"}`, false},          // the text form of arrays
		{"inner  space", "inner space", false}, // white space
		{"null", "nil", false},
	}
}

// bySpelling checks a kind of name. store stores a name and reports whether it was new, and known
// reports whether a name is found.
func bySpelling(t *testing.T, store, known func(name string) bool) {
	t.Helper()
	for _, s := range spellings() {
		assert.True(t, store(s.first), "%q is new", s.first)
		assert.True(t, known(s.first), "%q is found", s.first)
		assert.Equal(t, s.same, known(s.second), "%q, stored as %q, is found", s.second, s.first)
		assert.Equal(t, s.same, !store(s.second), "%q is taken by %q", s.second, s.first)
	}
}
