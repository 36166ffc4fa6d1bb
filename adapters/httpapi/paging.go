package httpapi

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/tocsin/tocsin/domain/fault"
)

// linkNext sets the Link header to the next page with the same filters, without the total.
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

// maxUnknownParameters is how many unknown parameters an error names, and maxNameLength how many
// characters of each.
const (
	maxUnknownParameters = 20
	maxNameLength        = 64
)

var errUnknownParameter = fault.New(fault.Invalid, "there is no such parameter")

// truncate limits the length of text from a client that a response repeats.
func truncate(name string) string {
	if runes := []rune(name); len(runes) > maxNameLength {
		return string(runes[:maxNameLength]) + "…"
	}
	return name
}

// The parameters of paging besides after and limit. Links of filtered lists have a digest of the
// filters, so that a client that changes them gets an error.
const (
	totalParameter  = "total"
	digestParameter = "filter_digest"
)

// pageParameters are the parameters of all lists.
type pageParameters struct {
	after int64
	limit int // 0: everything
	total bool
}

// parsePaging parses the query of a list. It refuses unknown parameters, because a client that
// sends ?page=2 must not get everything.
func parsePaging(query url.Values, f *filters) (params pageParameters, err error) {
	faults := f.faults
	onlyParameters(query, &faults, append([]string{"after", "limit", totalParameter, digestParameter}, f.names...)...)
	if query.Has("limit") {
		params.limit, err = strconv.Atoi(query.Get("limit"))
		if err != nil || params.limit < 1 || params.limit > maxLimit {
			faults.Addf("limit", "must be a whole number from 1 to %d", maxLimit)
		}
	}
	if query.Has("after") {
		params.after, err = strconv.ParseInt(query.Get("after"), 10, 64)
		if err != nil || params.after < 0 {
			faults.Addf("after", "must be a whole number that is not negative")
		}
	}
	if wanted := query.Get(totalParameter); query.Has(totalParameter) && wanted != "true" && wanted != "false" {
		faults.Addf(totalParameter, "must be true or false")
	} else {
		params.total = wanted == "true"
	}
	if digest := query.Get(digestParameter); query.Has(digestParameter) && (digest == "" || digest != f.digest()) {
		faults.Addf(digestParameter, "belongs to a page of the list with other filters: start over, without it and without after")
	}
	return params, faults.Err()
}

// noParameters refuses all parameters. It is for lists without pages.
func (c call) noParameters() error {
	var faults fault.Fields
	for _, name := range slices.Sorted(maps.Keys(c.QueryParams())) {
		if len(faults) < maxUnknownParameters {
			faults.AddAs(errUnknownParameter, truncate(name), "there is no such parameter; this list takes none")
		}
	}
	return faults.Err()
}

// onlyParameters refuses unknown parameters of a query, and those that are given twice.
func onlyParameters(query url.Values, faults *fault.Fields, known ...string) {
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if n := len(query[name]); n > 1 && slices.Contains(known, name) {
			faults.Addf(name, "is given %d times; give it only once", n)
		}
		if !slices.Contains(known, name) && len(*faults) < maxUnknownParameters {
			faults.AddAs(errUnknownParameter, truncate(name), "there is no such parameter; there is %s", strings.Join(known, ", "))
		}
	}
}
