package httpapi_test

import (
	"crypto/tls"
	"encoding/json"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/httpapi"
)

func TestAbsoluteURLs(t *testing.T) {
	t.Parallel()
	proxy := []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")} // Where test requests come from.
	for name, c := range map[string]struct {
		base    string
		proxies []netip.Prefix
		tls     bool
		proto   string
		want    string
	}{
		"FromTheRequest":          {want: "http://tocsin.test"},
		"OverTLS":                 {tls: true, want: "https://tocsin.test"},
		"ProxySaysHTTPS":          {proxies: proxy, proto: "https", want: "https://tocsin.test"},
		"ProxySaysHTTP":           {proxies: proxy, proto: "http", want: "http://tocsin.test"},
		"ProxySaysSomethingElse":  {proxies: proxy, proto: "javascript", want: "http://tocsin.test"},
		"UntrustedProxyIsIgnored": {proto: "https", want: "http://tocsin.test"},
		"Configured":              {base: "https://tocsin.example.org", want: "https://tocsin.example.org"},
		"ConfiguredWithSlash":     {base: "https://tocsin.example.org/", want: "https://tocsin.example.org"},
		"ConfiguredWithPath":      {base: "https://example.org/tocsin/", want: "https://example.org/tocsin"},
		"ConfiguredBeatsTheProxy": {base: "http://tocsin.example.org", proxies: proxy, proto: "https", want: "http://tocsin.example.org"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, func(o *httpapi.Options) { o.BaseURL, o.TrustedProxies = c.base, c.proxies })
			r := request{path: "/api/o/acme/p/shop/d/3"}.build()
			if c.tls {
				r.TLS = &tls.ConnectionState{}
			}
			if c.proto != "" {
				r.Header.Set("X-Forwarded-Proto", c.proto)
			}
			w := httptest.NewRecorder()
			f.ServeHTTP(w, r)
			var got struct {
				Members     string
				Application *int64
			}
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got), w.Body.String())
			assert.Equal(t, c.want+"/api/o/acme/p/shop/d/3/m/", got.Members)
			assert.Nil(t, got.Application)
		})
	}
}

func TestURLsOfAnOrganizationAndAProject(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	w := f.do(request{path: "/api/o/acme/"})
	assert.JSONEq(t, `{"name":"Acme","slug":"acme","default_region":"","searchable_metadata":[],"users":"http://tocsin.test/api/o/acme/u/",
		"projects":"http://tocsin.test/api/o/acme/p/","channels":"http://tocsin.test/api/o/acme/c/"}`, w.Body.String())
	w = f.do(request{path: "/api/o/acme/p/a%20b/"})
	assert.JSONEq(t, `{"name":"Shop","slug":"a b","applications":"http://tocsin.test/api/o/acme/p/a%20b/a/",
		"channels":"http://tocsin.test/api/o/acme/p/a%20b/c/","lists":"http://tocsin.test/api/o/acme/p/a%20b/d/"}`, w.Body.String())
}
