package shoutrrr_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/deliveries"
)

// FuzzAddress checks that every address is refused permanently and nothing is sent, or that it
// changes only its own part of the request.
func FuzzAddress(f *testing.F) {
	for _, address := range []string{"ada", "../admin", "a/b", "a?b=c", "a&priority=min", "a#b", "%2e%2e", "a,b", "a;b", "\r\nX: y", "ä\xff", "{address}", "@", ":", " "} {
		f.Add(address)
	}
	answers(says(http.StatusOK, "{}"))
	c := channel("ntfy://ada:pw@ntfy.example.org/prefix-{address}?tags={address}&priority=high")
	d, err := overWorld().Open(c)
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, address string) {
		answers(says(http.StatusOK, "{}"))
		if err := d.Dispatch(t.Context(), message(address)); err != nil {
			failure := deliveries.FailureOf(err)
			require.False(t, failure.Temporary || failure.Channel, failure)
			require.Empty(t, world.seen)
			return
		}
		require.Len(t, world.seen, 1)
		r := world.seen[0]
		username, password, _ := r.BasicAuth()
		require.Equal(t, "https ntfy.example.org /prefix-"+address+"  ada:pw", r.URL.Scheme+" "+r.URL.Host+" "+r.URL.Path+" "+r.URL.RawQuery+" "+username+":"+password)
		require.Equal(t, []string{address}, r.Header["Tags"])
		require.Equal(t, []string{"High"}, r.Header["Priority"])
	})
}
