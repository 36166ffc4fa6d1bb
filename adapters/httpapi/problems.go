package httpapi

import (
	"context"
	"errors"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/tocsin/tocsin/adapters/httpapi/jsonbody"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/quotas"
)

// Problem is a row of the table of the API's errors. The code and its meaning are stable.
type Problem struct {
	Code    string
	Status  int
	Title   string
	Meaning string // why this error is returned
	Remedy  string // what the user of the API can do

	// param is the part at fault, and parts are the path or query parameters at fault, if the
	// request has one of them. Fields named by the error itself come first.
	param   string
	parts   []string
	Faults  []error       // with this code
	Quotas  []quotas.Name // with this code when they are exceeded
	Default bool          // it is for errors of its status that no other row has
}

// problemOf returns the row for an error with a status. If the error has several fields, it uses
// the first one.
func problemOf(status int, err error) Problem {
	var rest Problem
	exceeded, _ := errors.AsType[*quotas.Exceeded](err)
	first := firstMistake(err)
	for _, p := range problems {
		switch {
		case p.Status != status:
		case exceeded != nil && slices.Contains(p.Quotas, exceeded.Quota):
			return p
		case slices.ContainsFunc(p.Faults, func(known error) bool {
			return errors.Is(err, known) || first.Cause != nil && errors.Is(first.Cause, known)
		}):
			return p
		case p.Default:
			rest = p
		}
	}
	return rest
}

// firstMistake returns the first field of an error; the zero value if it has none.
func firstMistake(err error) fault.FieldErrors {
	if known, ok := errors.AsType[*fault.Error](err); ok && len(known.Fields()) > 0 {
		return known.Fields()[0]
	}
	return fault.FieldErrors{}
}

// where returns the member, header, query parameter or path parameter at fault; nil if there is
// none. Invalid input is the fault of the body if nothing else is named.
func (p Problem) where(c echo.Context, err error) *string {
	if name := firstMistake(err).Name; name != "" {
		return &name
	}
	for _, part := range p.parts {
		if slices.Contains(c.ParamNames(), part) || c.QueryParams().Has(part) {
			return &part
		}
	}
	switch {
	case p.param != "":
		return &p.param
	case fault.KindOf(err) == fault.Invalid:
		return new(jsonbody.Body)
	}
	return nil
}

// timeouts are the errors of a call that took too long.
var timeouts = []error{context.DeadlineExceeded, context.Canceled}
