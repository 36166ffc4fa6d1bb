package httpapi_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/httpapi"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/users"
)

const membersPath = "/api/o/acme/p/shop/d/1/m/"

// recipients returns a list of n members with even ids; it fails when asked for those after failAt.
func recipients(n int, failAt int64, largest *int) func(int64, int) ([]lists.Recipient, error) {
	return func(after int64, limit int) ([]lists.Recipient, error) {
		if failAt > 0 && after >= failAt {
			return nil, errors.New("the disk is gone")
		}
		if largest != nil {
			*largest = max(*largest, limit)
		}
		var page []lists.Recipient
		for id := after/2*2 + 2; id <= int64(2*n) && len(page) < limit; id += 2 {
			page = append(page, lists.Recipient{
				ID: channels.AssignmentID(id), Address: fmt.Sprintf("user%d@example.org", id), Username: "user", Channel: "mail", Active: id%4 == 0,
			})
		}
		return page, nil
	}
}

type member struct {
	ID      int64  `json:"id"`
	Address string `json:"address"`
	User    string `json:"user"`
	Channel string `json:"channel"`
	Active  bool   `json:"active"`
}

func TestListWithoutLimit(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 1_999, 2_000, 2_001, 10_000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			largest := 0
			f.store.reader = recipients(n, 0, &largest)
			w := f.do(request{path: membersPath})
			require.Equal(t, http.StatusOK, w.Code)
			assert.Equal(t, "application/json", w.Header().Get("Content-Type"))
			assert.Empty(t, w.Header().Get("Link"))
			var got []member
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
			require.NotNil(t, got, "an empty list is [] and not null")
			require.Len(t, got, n)
			for i, m := range got {
				require.EqualValues(t, 2*i+2, m.ID)
			}
			assert.LessOrEqual(t, largest, 2_000, "pages are bounded")
		})
	}
}

func TestListAfterID(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.store.reader = recipients(10, 0, nil)
	w := f.do(request{path: membersPath + "?after=16"})
	var got []member
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
	require.Len(t, got, 2)
	assert.Equal(t, member{ID: 18, Address: "user18@example.org", User: "user", Channel: "mail"}, got[0])
	assert.Equal(t, member{ID: 20, Address: "user20@example.org", User: "user", Channel: "mail", Active: true}, got[1])
}

func TestNextLink(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ members, limit, pages int }{{0, 10, 1}, {1, 1, 1}, {2, 1, 2}, {10, 5, 2}, {11, 5, 3}, {2_500, 1_000, 3}} {
		t.Run(fmt.Sprintf("%d/%d", c.members, c.limit), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.store.reader = recipients(c.members, 0, nil)
			next := fmt.Sprintf("http://tocsin.test%s?limit=%d", membersPath, c.limit)
			total := 0
			for page := 1; next != ""; page++ {
				w := f.do(request{path: strings.TrimPrefix(next, "http://tocsin.test")})
				require.Equal(t, http.StatusOK, w.Code)
				var got []member
				require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
				total += len(got)
				link := w.Header().Get("Link")
				require.Equal(t, page < c.pages, link != "", link)
				next = ""
				if link != "" {
					require.Len(t, got, c.limit)
					next = strings.TrimSuffix(strings.TrimPrefix(link, "<"), `>; rel="next"`)
					require.Equal(t, fmt.Sprintf("http://tocsin.test%s?after=%d&limit=%d", membersPath, got[len(got)-1].ID, c.limit), next)
				}
			}
			assert.Equal(t, c.members, total)
		})
	}
}

func TestNextLinkURL(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(o *httpapi.Options) { o.BaseURL = "https://tocsin.example.org/sub/" })
	f.store.members = func(after users.MemberID, limit int) []users.Member {
		return []users.Member{{ID: after + 1}, {ID: after + 2}}[:min(limit, 2)]
	}
	w := f.do(request{path: "/api/o/%61cme/u?limit=1&after=41"})
	require.Equal(t, http.StatusOK, w.Code)
	assert.Equal(t, `<https://tocsin.example.org/sub/api/o/acme/u/?after=42&limit=1>; rel="next"`, w.Header().Get("Link"))
}

func TestPagingParameters(t *testing.T) {
	t.Parallel()
	for query, field := range map[string]string{
		"limit=0": "limit", "limit=1001": "limit", "limit=-1": "limit", "limit=x": "limit", "limit=": "limit", "limit=1.5": "limit",
		"after=-1": "after", "after=x": "after", "after=": "after", "after=9223372036854775808": "after",
	} {
		w := newFixture(t).do(request{path: membersPath + "?" + query})
		require.Equal(t, http.StatusBadRequest, w.Code, query)
		assert.Contains(t, problemOf(t, w).Errors, field)
	}
	w := newFixture(t).do(request{path: membersPath + "?after=x&limit=x"})
	assert.Len(t, problemOf(t, w).Errors, 2, "all mistakes at once")
}

func TestListFailureBeforeTheFirstPage(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.store.err = fault.New(fault.NotFound, "the distribution list does not exist")
	w := f.do(request{path: membersPath})
	require.Equal(t, http.StatusNotFound, w.Code)
	problemOf(t, w)
}

func TestListFailureClosesTheConnection(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.store.reader = recipients(20_000, 20_000, nil)
	server := newServer(t, f)
	answer := fetch(t, server, http.MethodGet, membersPath)
	defer func() { _ = answer.Body.Close() }()
	assert.Equal(t, http.StatusOK, answer.StatusCode)
	body, err := io.ReadAll(answer.Body)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	assert.NotEmpty(t, body)
	assert.NotContains(t, string(body), "the disk is gone")
	assert.NotContains(t, string(body), "]")
	logged := f.log.lines(t, "answer cut off")
	require.Len(t, logged, 1)
	assert.Equal(t, "the disk is gone", logged[0]["error"])
	assert.Equal(t, answer.Header.Get("X-Request-ID"), logged[0]["id"])
	assert.Len(t, f.log.lines(t, "request"), 1)
}

// largestWrite is a response that records the largest write.
type largestWrite struct {
	*httptest.ResponseRecorder
	bytes int
}

func (l *largestWrite) Write(p []byte) (int, error) {
	l.bytes = max(l.bytes, len(p))
	return l.ResponseRecorder.Write(p)
}

// TestListOfLargeEntries checks that entries are sent before their batch is encoded to its end.
func TestListOfLargeEntries(t *testing.T) {
	t.Parallel()
	const n, size = 1_000, 10_000
	f := newFixture(t)
	all := recipients(n, 0, nil)
	f.store.reader = func(after int64, limit int) ([]lists.Recipient, error) {
		page, err := all(after, limit)
		for i := range page {
			page[i].Username = strings.Repeat("x", size)
		}
		return page, err
	}
	w := &largestWrite{ResponseRecorder: httptest.NewRecorder()}
	f.ServeHTTP(w, request{path: membersPath}.build())
	var got []member
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
	assert.Len(t, got, n)
	assert.Less(t, w.bytes, 64<<10+2*size)
}

// TestListPanic checks that reading ahead leaves the panic to what recovers a request.
func TestListPanic(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.store.reader = func(int64, int) ([]lists.Recipient, error) { panic("a mistake") }
	w := f.do(request{path: membersPath})
	assert.Equal(t, http.StatusInternalServerError, w.Code)
	assert.NotContains(t, w.Body.String(), ".go")
	assert.Len(t, f.log.lines(t, "request"), 1)
	logged := f.log.lines(t, "request failed")
	require.Len(t, logged, 1)
	assert.Contains(t, logged[0]["error"], "a mistake")
	assert.Contains(t, logged[0]["error"], "TestListPanic.func1", "the log has the place of the panic")
}

// TestListDisconnect checks that nothing is read any more when the client has gone.
func TestListDisconnect(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	all := recipients(1_000_000, 0, nil)
	read, ended := 0, make(chan struct{})
	f.store.reader = func(after int64, limit int) ([]lists.Recipient, error) {
		read++
		return all(after, limit)
	}
	server := httptest.NewUnstartedServer(f)
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateClosed {
			close(ended)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	answer := fetch(t, server, http.MethodGet, membersPath)
	require.NoError(t, answer.Body.Close())
	<-ended
	assert.Less(t, read, 500)
}

func TestListStreams(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	all := recipients(100_000, 0, nil)
	seen := make(chan struct{})
	f.store.reader = func(after int64, limit int) ([]lists.Recipient, error) {
		if after > 20_000 {
			<-seen // The client must receive the beginning before the rest is read.
		}
		return all(after, limit)
	}
	server := newServer(t, f)
	answer := fetch(t, server, http.MethodGet, membersPath)
	defer func() { _ = answer.Body.Close() }()
	body := bufio.NewReader(answer.Body)
	_, err := body.ReadString('\n')
	require.NoError(t, err)
	close(seen)
	rest, err := io.ReadAll(body)
	require.NoError(t, err)
	assert.True(t, strings.HasSuffix(string(rest), "]\n"))
}

func TestHeadOfAList(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	largest := 0
	f.store.reader = recipients(100_000, 0, &largest)
	w := f.do(request{method: http.MethodHead, path: membersPath})
	assert.Equal(t, http.StatusOK, w.Code)
	assert.Equal(t, "application/json", w.Header().Get("Content-Type"))
	assert.Equal(t, 1, largest)
}

func TestRecipientJSON(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	odd := []string{`"`, `\`, "\t", "<ä>&", "\u2028", "\x7f", "😀", "\xff", ""}
	f.store.reader = func(int64, int) ([]lists.Recipient, error) {
		var page []lists.Recipient
		for i, s := range odd {
			page = append(page, lists.Recipient{ID: channels.AssignmentID(i + 1), Address: s, Username: s + s, Channel: s, Active: true})
		}
		return page, nil
	}
	w := f.do(request{path: membersPath})
	var got []member
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got), w.Body.String())
	for i, s := range odd {
		s = strings.ToValidUTF8(s, "\uFFFD")
		assert.Equal(t, member{ID: int64(i + 1), Address: s, User: s + s, Channel: s, Active: true}, got[i])
	}
}

// BenchmarkMembers measures a list of 200,000 members without the database.
func BenchmarkMembers(b *testing.B) {
	f := newFixture(b)
	page := make([]lists.Recipient, 2_000)
	for i := range page {
		page[i] = lists.Recipient{Address: "somebody.or.other@example.org", Username: "somebody.or.other@example.org", Channel: "mail", Active: true}
	}
	f.store.reader = func(after int64, _ int) ([]lists.Recipient, error) {
		if after >= 200_000 {
			return nil, nil
		}
		for i := range page {
			page[i].ID = channels.AssignmentID(after + int64(i) + 1)
		}
		return page, nil
	}
	for b.Loop() {
		w := &counter{header: http.Header{}}
		f.ServeHTTP(w, request{path: membersPath}.build())
		b.SetBytes(w.n)
	}
}

type counter struct {
	header http.Header
	n      int64
}

func (c *counter) Header() http.Header { return c.header }
func (c *counter) WriteHeader(int)     {}
func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return len(p), nil
}

func TestTotal(t *testing.T) {
	t.Parallel()
	for n, want := range map[int][2]string{0: {"0", ""}, 2_000: {"2000", ""}, 9_999: {"9999", ""}, 10_000: {"", "10000"}, 30_000: {"", "10000"}} {
		f := newFixture(t)
		f.store.reader = recipients(n, 0, nil)
		for _, query := range []string{"?total=true&limit=1", "?total=true&limit=1&channel=mail"} {
			header := f.do(request{path: membersPath + query}).Header()
			assert.Equal(t, want, [2]string{header.Get("X-Total-Count"), header.Get("X-Total-At-Least")}, "%d %s", n, query)
		}
		header := f.do(request{path: membersPath + "?limit=1&total=false"}).Header()
		assert.Empty(t, header.Get("X-Total-Count")+header.Get("X-Total-At-Least"))
	}
}

func TestPageBatchLimit(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const many = 95_000 // 20 batches of 2,000 are 40,000
	f.store.reader = recipients(many, 0, nil)
	next := membersPath + fmt.Sprintf("?limit=3&address=user%d@example.org", 2*many)
	var shown []int
	for next != "" {
		w := f.do(request{path: strings.TrimPrefix(next, "http://tocsin.test")})
		require.Equal(t, http.StatusOK, w.Code)
		var got []member
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
		shown = append(shown, len(got))
		next = strings.TrimSuffix(strings.TrimPrefix(w.Header().Get("Link"), "<"), `>; rel="next"`)
	}
	assert.Equal(t, []int{0, 0, 1}, shown)
}
