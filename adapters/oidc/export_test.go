package oidc

import "net/http"

// Through makes the provider send all requests with a function.
func (p *Provider) Through(do func(*http.Request) (*http.Response, error)) {
	p.client.Transport = limitedTransport{tripper(do)}
}

type tripper func(*http.Request) (*http.Response, error)

func (t tripper) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }
