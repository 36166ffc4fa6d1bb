package conformance

import (
	"crypto/sha256"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/requests"
	"github.com/tocsin/tocsin/ports"
)

// answeredWith begins a request and, if it is new, stores its answer.
func (w *world) answeredWith(t *testing.T, r requests.Request, at time.Time, a requests.Answer) (found requests.Answer, repeated bool, err error) {
	t.Helper()
	err = w.Update(t.Context(), func(tx ports.Tx) error {
		if found, repeated, err = tx.Requests().Begin(t.Context(), r, at); err != nil || repeated {
			return err
		}
		found = a
		return tx.Requests().Finish(t.Context(), r, a)
	})
	return found, repeated, err
}

// requestCases are about the stored answers for repetitions.
func requestCases() cases {
	first, second := requests.Answer{Status: 201, Body: []byte(`{"é": 1}`)}, requests.Answer{Status: 200, Body: []byte(`{}`)}
	return cases{
		"RepeatedUntilForgotten": func(t *testing.T, w *world) {
			r := *request(w.issue(t, access.Key{Name: "k"}), "a", "body")
			for i, at := range []time.Duration{0, time.Minute, requests.Lifetime - time.Microsecond} {
				found, repeated, err := w.answeredWith(t, r, noon.Add(at), []requests.Answer{first, second, second}[i])
				require.NoError(t, err)
				assert.Equal(t, first, found)
				assert.Equal(t, i > 0, repeated)
			}
			other := r
			other.Digest = sha256.Sum256([]byte("other"))
			_, _, err := w.answeredWith(t, other, noon, second)
			require.ErrorIs(t, err, requests.ErrReused)
			found, repeated, err := w.answeredWith(t, other, noon.Add(requests.Lifetime), second)
			require.NoError(t, err)
			assert.Equal(t, second, found)
			assert.False(t, repeated, "the first one is forgotten")
			found, repeated, err = w.answeredWith(t, other, noon.Add(requests.Lifetime+time.Minute), first)
			require.NoError(t, err)
			assert.Equal(t, second, found)
			assert.True(t, repeated, "the second one counts from its own time")
		},
		"BelongToTheirKeyAndTheirWord": func(t *testing.T, w *world) {
			k, o := w.issue(t, access.Key{Name: "k"}), w.issue(t, access.Key{Name: "o"})
			for _, r := range []*requests.Request{request(k, "a", "body"), request(k, "A", "body"), request(o, "a", "body")} {
				_, repeated, err := w.answeredWith(t, *r, noon, first)
				require.NoError(t, err)
				assert.False(t, repeated)
			}
		},
		"FailedUnitsGetNewIDs": func(t *testing.T, w *world) {
			r := *request(w.issue(t, access.Key{Name: "k"}), "a", "body")
			refused(t, w, errStop, func(tx ports.Tx) error {
				_, _, err := tx.Requests().Begin(t.Context(), r, noon)
				require.NoError(t, err)
				return errStop
			})
			_, repeated, err := w.answeredWith(t, r, noon, first)
			require.NoError(t, err)
			assert.False(t, repeated)
		},
		"ConcurrentOnesAreAnsweredOnce": func(t *testing.T, w *world) {
			r := *request(w.issue(t, access.Key{Name: "k"}), "a", "body")
			fresh := 0
			for _, repeated := range together(12, func(int) bool {
				_, repeated, err := w.answeredWith(t, r, noon, first)
				assert.NoError(t, err)
				return repeated
			}) {
				if !repeated {
					fresh++
				}
			}
			assert.Equal(t, 1, fresh)
		},
		"AndTriggersKnowEachOthersKeys": func(t *testing.T, w *world) {
			k := w.issue(t, access.Key{Name: "k"})
			o := w.mine.occurrence(nil, nil)
			o.Created = noon
			require.NoError(t, w.ask(t, o, request(k, "trigger", "body")).err)
			_, _, err := w.answeredWith(t, *request(k, "trigger", "other"), noon, first)
			require.ErrorIs(t, err, requests.ErrReused)
			_, _, err = w.answeredWith(t, *request(k, "call", "body"), noon, first)
			require.NoError(t, err)
			require.ErrorIs(t, w.ask(t, o, request(k, "call", "other")).err, requests.ErrReused)
			o.Created = noon.Add(requests.Lifetime)
			require.NoError(t, w.ask(t, o, request(k, "call", "other")).err)
		},
		"ArePurged": func(t *testing.T, w *world) {
			k := w.issue(t, access.Key{Name: "k"})
			for _, word := range []string{"a", "b", "c"} {
				_, _, err := w.answeredWith(t, *request(k, word, "body"), noon, first)
				require.NoError(t, err)
			}
			old := deliveries.Expiry{Requests: noon.Add(time.Second), Entries: noon.Add(-time.Hour), Occurrences: noon.Add(-time.Hour)}
			gone, err := w.Queue().Purge(t.Context(), old, 2)
			require.NoError(t, err)
			assert.Equal(t, 2, gone)
			gone, err = w.Queue().Purge(t.Context(), old, 2)
			require.NoError(t, err)
			assert.Equal(t, 1, gone)
		},
	}
}
