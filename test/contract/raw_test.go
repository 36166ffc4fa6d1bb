package contract_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestRawRequests sends bytes that no HTTP client would send. The service answers each with a 4xx
// or, if it cannot find the end of the request, closes the connection. It serves the next request.
func TestRawRequests(t *testing.T) {
	t.Parallel()
	const key = "Authorization: Key " + rootKey + "\r\nHost: tocsin\r\n"
	bad := []int{http.StatusBadRequest}
	exchanges := map[string]exchange{
		"Garbage":                        {sent: "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\r\n\r\n", want: bad, cut: true},
		"NoVersion":                      {sent: "GET /api/system/ping/\r\n" + key + "\r\n", want: bad},
		"HTTP3":                          {sent: "GET /api/system/ping/ HTTP/3.0\r\n" + key + "\r\n", want: []int{http.StatusHTTPVersionNotSupported}},
		"HTTP10":                         {sent: "GET /api/system/ping/ HTTP/1.0\r\n" + key + "\r\n", want: []int{http.StatusOK}},
		"NoHost":                         {sent: "GET /api/system/ping/ HTTP/1.1\r\n\r\n", want: bad},
		"TwoHosts":                       {sent: "GET /api/system/ping/ HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", want: bad},
		"BadPercentEncoding":             {sent: "GET /api/v1/user/acme/%zz/ HTTP/1.1\r\n" + key + "\r\n", want: bad},
		"HalfPercentEncoding":            {sent: "GET /api/v1/user/acme/%4 HTTP/1.1\r\n" + key + "\r\n", want: bad},
		"RawUTF8InThePath":               {sent: "GET /api/v1/user/acme/\xc3\xa4nne/ HTTP/1.1\r\n" + key + "\r\n", want: []int{http.StatusNotFound}},
		"InvalidUTF8InThePath":           {sent: "GET /api/v1/user/acme/\xff/ HTTP/1.1\r\n" + key + "\r\n", want: []int{http.StatusNotFound}},
		"NULInThePath":                   {sent: "GET /api/v1/user/acme/\x00/ HTTP/1.1\r\n" + key + "\r\n", want: bad},
		"SpaceInThePath":                 {sent: "GET /api/v1/user/acme/a b/ HTTP/1.1\r\n" + key + "\r\n", want: bad},
		"BadQuery":                       {sent: "GET /api/v1/user/acme/?limit=%zz HTTP/1.1\r\n" + key + "\r\n", want: []int{http.StatusOK, http.StatusBadRequest}},
		"SemicolonsInTheQuery":           {sent: "GET /api/v1/user/acme/?limit=1;after=2 HTTP/1.1\r\n" + key + "\r\n", want: []int{http.StatusOK, http.StatusBadRequest}},
		"HeaderWithNUL":                  {sent: "GET /api/system/ping/ HTTP/1.1\r\n" + key + "X: \x00\r\n\r\n", want: bad},
		"HeaderNameWithSpace":            {sent: "GET /api/system/ping/ HTTP/1.1\r\n" + key + "X : 1\r\n\r\n", want: bad},
		"HeadersWithoutEnd":              {sent: "GET /api/system/ping/ HTTP/1.1\r\n" + key + strings.Repeat("X: "+strings.Repeat("x", 1000)+"\r\n", 1200) + "\r\n", want: []int{http.StatusRequestHeaderFieldsTooLarge}},
		"AbsoluteURI":                    {sent: "GET http://tocsin/api/system/ping/ HTTP/1.1\r\n" + key + "\r\n", want: []int{http.StatusOK}},
		"AsteriskURI":                    {sent: "OPTIONS * HTTP/1.1\r\n" + key + "\r\n", want: []int{http.StatusOK, http.StatusNotFound, http.StatusMethodNotAllowed}},
		"Connect":                        {sent: "CONNECT tocsin:443 HTTP/1.1\r\n" + key + "\r\n", want: []int{http.StatusNotFound, http.StatusMethodNotAllowed}},
		"NegativeLength":                 {sent: "POST /api/v1/user/acme/ HTTP/1.1\r\n" + key + "Content-Length: -1\r\n\r\n", want: bad},
		"TwoLengths":                     {sent: "POST /api/v1/user/acme/ HTTP/1.1\r\n" + key + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}x", want: bad},
		"LengthAndChunked":               {sent: "POST /api/v1/user/acme/ HTTP/1.1\r\n" + key + "Content-Type: application/json\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", want: bad},
		"UnknownTransferEncoding":        {sent: "POST /api/v1/user/acme/ HTTP/1.1\r\n" + key + "Transfer-Encoding: gzip\r\n\r\n", want: []int{http.StatusNotImplemented, http.StatusBadRequest}},
		"BadChunk":                       {sent: "POST /api/v1/user/acme/ HTTP/1.1\r\n" + key + "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n", want: bad},
		"ChunkCutOff":                    {sent: "POST /api/v1/user/acme/ HTTP/1.1\r\n" + key + "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n20\r\n{", want: bad, cut: true},
		"BodyCutOff":                     {sent: "POST /api/v1/user/acme/ HTTP/1.1\r\n" + key + "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"email\":", want: bad, cut: true},
		"LengthOf1TiB":                   {sent: "POST /api/v1/user/acme/ HTTP/1.1\r\n" + key + "Content-Type: application/json\r\nContent-Length: 1099511627776\r\n\r\n{}", want: []int{http.StatusRequestEntityTooLarge}},
		"LengthThatDoesNotFit":           {sent: "POST /api/v1/user/acme/ HTTP/1.1\r\n" + key + "Content-Length: 99999999999999999999\r\n\r\n{}", want: bad},
		"OnlyLineFeeds":                  {sent: "GET /api/system/ping/ HTTP/1.1\n" + strings.ReplaceAll(key, "\r", "") + "\n", want: []int{http.StatusOK}},
		"UnknownExpectation":             {sent: "POST /api/v1/user/acme/ HTTP/1.1\r\n" + key + "Expect: miracles\r\nContent-Length: 2\r\n\r\n{}", want: []int{http.StatusExpectationFailed}},
		"KeyWithLineBreakSmuggled":       {sent: "GET /api/v1/user/acme/ HTTP/1.1\r\nHost: tocsin\r\nAuthorization: Key\r\n " + rootKey + "\r\n\r\n", want: []int{http.StatusOK, http.StatusBadRequest, http.StatusUnauthorized}},
		"MethodInLowerCase":              {sent: "get /api/system/ping/ HTTP/1.1\r\n" + key + "\r\n", want: []int{http.StatusMethodNotAllowed}},
		"Empty":                          {sent: "\r\n\r\n", want: bad, cut: true},
		"BytesAfterTheRequestAreTheNext": {sent: "GET /api/system/ping/ HTTP/1.1\r\n" + key + "\r\nGET /healthz HTTP/1.1\r\nHost: tocsin\r\n\r\n", want: []int{http.StatusOK}},
	}
	t.Run("AreAnsweredOrDisconnected", both(func(w *world) {
		w.unchanged(func() {
			each(exchanges, func(w *world, e exchange) {
				status, text := w.tell(e)
				assert.Contains(w, e.want, status, "%s", text)
				assert.NotContains(w, text, "goroutine")
				w.get("/api/system/ping/").is(http.StatusOK)
			})(w)
		})
	}))

	t.Run("PipelinedRequestsAreAnsweredInOrder", both(func(w *world) {
		var sent strings.Builder
		for i := range 20 {
			body := fmt.Sprintf(`{"email": "user%d@example.org"}`, i)
			fmt.Fprintf(&sent, "POST /api/v1/user/acme/ HTTP/1.1\r\n%sX-Request-ID: %d\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", key, i, len(body), body)
		}
		connection := w.dial()
		go func() { _, _ = io.Copy(connection, strings.NewReader(sent.String())) }() // What is not sent shows as an answer that is missing.
		reader := bufio.NewReader(connection)
		for i := range 20 {
			response, err := http.ReadResponse(reader, nil)
			require.NoError(w, err)
			_, err = io.Copy(io.Discard, response.Body)
			require.NoError(w, err)
			require.NoError(w, response.Body.Close())
			require.Equal(w, http.StatusCreated, response.StatusCode)
			require.Equal(w, fmt.Sprint(i), response.Header.Get("X-Request-ID"))
		}
	}))
}

// exchange is a raw request with the permitted statuses of the first response.
type exchange struct {
	sent string
	want []int
	cut  bool // whether the client says that there is no more, in the middle of a request
}

// tell sends the raw request and returns the first answer.
func (w *world) tell(e exchange) (status int, text string) {
	w.Helper()
	connection := w.dial()
	_, _ = io.Copy(connection, strings.NewReader(e.sent)) // The server may refuse before all is sent.
	if e.cut {
		require.NoError(w, connection.CloseWrite())
	}
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	require.NoError(w, err)
	defer response.Body.Close()
	received, err := io.ReadAll(response.Body)
	require.NoError(w, err)
	return response.StatusCode, string(received)
}

func (w *world) dial() *net.TCPConn {
	w.Helper()
	connection, err := (&net.Dialer{}).DialContext(w.Context(), "tcp", strings.TrimPrefix(w.base, "http://"))
	require.NoError(w, err)
	w.Cleanup(func() { _ = connection.Close() })
	require.NoError(w, connection.SetDeadline(time.Now().Add(time.Minute)))
	return connection.(*net.TCPConn)
}
