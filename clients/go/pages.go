package tocsin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/tocsin/tocsin/clients/go/api"
)

// pageSize is how many items a page has where the call does not say.
const pageSize = "500"

// All returns the items of a list, page by page, as they are asked for. The call makes one request
// with the editor that it is given:
//
//	list := func(ctx context.Context, page api.RequestEditorFn) (*http.Response, error) {
//		return client.ListUsers(ctx, "acme", nil, page)
//	}
//	for user, err := range tocsin.All[api.User](ctx, list) { … }
//
// An error ends it. The service lists by id: what is added meanwhile comes, and nothing comes
// twice.
func All[T any](ctx context.Context, call func(context.Context, api.RequestEditorFn) (*http.Response, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		next := url.Values{}
		for {
			response, err := call(ctx, func(_ context.Context, r *http.Request) error {
				query := r.URL.Query()
				if query.Get("limit") == "" {
					query.Set("limit", pageSize)
				}
				maps.Copy(query, next)
				r.URL.RawQuery = query.Encode()
				return nil
			})
			if err != nil {
				yield(none, err)
				return
			}
			var items []T
			err = errors.Join(json.NewDecoder(response.Body).Decode(&items), response.Body.Close())
			if err != nil {
				yield(none, fmt.Errorf("tocsin: reading a page: %w", err))
				return
			}
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			if next = following(response.Header); next == nil {
				return
			}
		}
	}
}

// following is the query of the next page, nil on the last one.
func following(h http.Header) url.Values {
	for _, link := range h.Values("Link") {
		target, attributes, found := strings.Cut(strings.TrimPrefix(strings.TrimSpace(link), "<"), ">")
		if !found || !strings.Contains(attributes, `rel="next"`) {
			continue
		}
		if u, err := url.Parse(target); err == nil {
			return u.Query()
		}
	}
	return nil
}

// Users returns the members of an organization, page by page.
func (c *Client) Users(ctx context.Context, org string) iter.Seq2[api.User, error] {
	return All[api.User](ctx, func(ctx context.Context, page api.RequestEditorFn) (*http.Response, error) {
		return c.ListUsers(ctx, org, nil, page)
	})
}

// Recipients returns the members of a distribution list, page by page.
func (c *Client) Recipients(ctx context.Context, org, project string, list int64) iter.Seq2[api.Recipient, error] {
	return All[api.Recipient](ctx, func(ctx context.Context, page api.RequestEditorFn) (*http.Response, error) {
		return c.ListRecipients(ctx, org, project, list, nil, page)
	})
}

// Deliveries returns the deliveries of an occurrence, page by page.
func (c *Client) Deliveries(ctx context.Context, org, project, application string, occurrence int64) iter.Seq2[api.Delivery, error] {
	return All[api.Delivery](ctx, func(ctx context.Context, page api.RequestEditorFn) (*http.Response, error) {
		return c.ListDeliveries(ctx, org, project, application, occurrence, nil, page)
	})
}
