package httpapi

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/tocsin/tocsin/domain/fault"
)

// linkNext links the next page of the same list, with the same filters. The total does not change
// from page to page.
func (c call) linkNext(after int64, limit int, f *filters) {
	query := maps.Clone(c.QueryParams())
	query.Del(totalParameter)
	if digest := f.digest(); digest != "" {
		query.Set(digestParameter, digest)
	}
	query.Set("after", strconv.FormatInt(after, 10))
	query.Set("limit", strconv.Itoa(limit))
	next := c.base() + c.Request().URL.RawPath + "?" + query.Encode()
	c.Response().Header().Set("Link", "<"+next+`>; rel="next"`)
}

// maxStrangers is how many unknown parameters are named, and maxParameter how many characters of
// each.
const (
	maxStrangers = 20
	maxParameter = 64
)

var errUnknownParameter = fault.New(fault.Invalid, "there is no such parameter")

// shortened returns a client's name, cut to the length that an answer repeats.
func shortened(name string) string {
	if runes := []rune(name); len(runes) > maxParameter {
		return string(runes[:maxParameter]) + "…"
	}
	return name
}

// The parameters of paging besides after and limit. Links of filtered lists carry a digest of the
// filters, so that a client that changes or drops them gets an error.
const (
	totalParameter  = "total"
	digestParameter = "filter_digest"
)

// paged is what a client may ask of every list.
type paged struct {
	after int64
	limit int // 0: everything
	total bool
}

// paging parses the query of a list. An unknown parameter is a mistake: a client that asks for
// ?page=2 must not get everything.
func paging(query url.Values, f *filters) (asked paged, err error) {
	faults := f.faults
	onlyParameters(query, &faults, append([]string{"after", "limit", totalParameter, digestParameter}, f.names...)...)
	if query.Has("limit") {
		asked.limit, err = strconv.Atoi(query.Get("limit"))
		if err != nil || asked.limit < 1 || asked.limit > maxLimit {
			faults.Addf("limit", "must be a whole number from 1 to %d", maxLimit)
		}
	}
	if query.Has("after") {
		asked.after, err = strconv.ParseInt(query.Get("after"), 10, 64)
		if err != nil || asked.after < 0 {
			faults.Addf("after", "must be a whole number that is not negative")
		}
	}
	if wanted := query.Get(totalParameter); query.Has(totalParameter) && wanted != "true" && wanted != "false" {
		faults.Addf(totalParameter, "must be true or false")
	} else {
		asked.total = wanted == "true"
	}
	if digest := query.Get(digestParameter); query.Has(digestParameter) && (digest == "" || digest != f.digest()) {
		faults.Addf(digestParameter, "belongs to a page of the list with other filters: begin anew, without it and without after")
	}
	return asked, faults.Err()
}

// noParameters refuses every parameter, for lists that are short and unpaged.
func (c call) noParameters() error {
	var faults fault.Fields
	for _, name := range slices.Sorted(maps.Keys(c.QueryParams())) {
		if len(faults) < maxStrangers {
			faults.AddAs(errUnknownParameter, shortened(name), "there is no such parameter; this list takes none")
		}
	}
	return faults.Err()
}

// onlyParameters refuses unknown parameters of a query.
func onlyParameters(query url.Values, faults *fault.Fields, known ...string) {
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if !slices.Contains(known, name) && len(*faults) < maxStrangers {
			faults.AddAs(errUnknownParameter, shortened(name), "there is no such parameter; there is %s", strings.Join(known, ", "))
		}
	}
}
