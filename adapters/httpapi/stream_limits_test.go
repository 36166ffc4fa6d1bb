package httpapi_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/httpapi"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/quotas"
)

// duringWrite is a client during whose first read something else happens.
type duringWrite struct {
	*httptest.ResponseRecorder
	do func()
}

func (w duringWrite) Write(p []byte) (int, error) {
	w.do()
	return w.ResponseRecorder.Write(p)
}

// TestQuotaOfLargeAnswers checks that the large answers that an organization reads at once are
// limited, and that small ones do not count.
func TestQuotaOfLargeAnswers(t *testing.T) {
	t.Parallel()
	const large, small = 10_000, 10
	var n atomic.Int64 // of all lists
	n.Store(large)
	f := newFixture(t, func(o *httpapi.Options) { o.Quotas = quotas.NewDefaults(quotas.Limits{quotas.LargeAnswers: 2}) })
	f.store.reader = func(after int64, limit int) ([]lists.Recipient, error) {
		return recipients(int(n.Load()), 0, nil)(after, limit)
	}
	read := func(r request, during func()) *httptest.ResponseRecorder {
		w := duringWrite{httptest.NewRecorder(), sync.OnceFunc(during)}
		f.ServeHTTP(w, r.build())
		return w.ResponseRecorder
	}
	all := request{path: membersPath, key: acmeKey}
	page := request{path: membersPath + "?limit=1000", key: acmeKey}
	whole := request{path: membersPath}

	first := read(all, func() {
		second := read(page, func() {
			for _, r := range []request{all, page} {
				refused := f.do(r)
				require.Equal(t, http.StatusTooManyRequests, refused.Code)
				assert.Equal(t, "1", refused.Header().Get("Retry-After"))
				var problem struct{ Code, Quota string }
				require.NoError(t, json.Unmarshal(refused.Body.Bytes(), &problem))
				assert.Equal(t, "quota_exceeded", problem.Code)
				assert.Equal(t, "large_answer_limit", problem.Quota)
			}
			assert.Equal(t, http.StatusOK, f.do(whole).Code, "the key of the whole installation")
			n.Store(small)
			assert.Equal(t, http.StatusOK, f.do(all).Code, "a small list")
			n.Store(large)
		})
		require.Equal(t, http.StatusOK, second.Code)
		assert.Equal(t, http.StatusOK, f.do(page).Code, "the second list has ended")
	})
	require.Equal(t, http.StatusOK, first.Code)
	assert.True(t, strings.HasSuffix(first.Body.String(), "]\n"))
	assert.Equal(t, http.StatusOK, f.do(all).Code)
}

// TestPageOfLargeEntries checks that a page of large entries ends before it is full, and that its
// links lead to all of them.
func TestPageOfLargeEntries(t *testing.T) {
	t.Parallel()
	const n, size, largestPage = 250, 10_000, 1<<20 + 20_000
	f := newFixture(t)
	all := recipients(n, 0, nil)
	f.store.reader = func(after int64, limit int) ([]lists.Recipient, error) {
		page, err := all(after, limit)
		for i := range page {
			page[i].Username = strings.Repeat("x", size)
		}
		return page, err
	}
	var ids []int64
	pages := 0
	for next := membersPath + "?limit=1000"; next != ""; pages++ {
		w := f.do(request{path: strings.TrimPrefix(next, "http://tocsin.test")})
		require.Equal(t, http.StatusOK, w.Code)
		assert.Less(t, w.Body.Len(), largestPage)
		var got []member
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
		for _, m := range got {
			ids = append(ids, m.ID)
		}
		next = strings.TrimSuffix(strings.TrimPrefix(w.Header().Get("Link"), "<"), `>; rel="next"`)
	}
	assert.Equal(t, 3, pages)
	require.Len(t, ids, n)
	for i, id := range ids {
		require.EqualValues(t, 2*i+2, id)
	}
}
