package httpapi

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/tocsin/tocsin/adapters/httpapi/jsonbody"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/quotas"
)

// Problem is one row of the table of all errors that the API answers. Its code never changes and
// never gets another meaning.
type Problem struct {
	Code    string
	Status  int
	Title   string
	Meaning string // why this is answered
	Remedy  string // what whoever reads it can do

	// param is what is wrong, and parts are parts of the path or of the query that are, where the
	// request has one of them. What an error itself says comes first.
	param  string
	parts  []string
	Faults []error       // that are answered with this code
	Quotas []quotas.Name // that are answered with this code when they are exceeded
	Rest   bool          // it stands for all errors of its status that have no code of their own
}

// ProblemTable returns the table of all errors that the API answers, by status.
func ProblemTable() []Problem { return slices.Clone(problems) }

// problemOf finds the row for an error that is answered with a status. Of several mistakes the
// first one counts.
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
		case p.Rest:
			rest = p
		}
	}
	return rest
}

// firstMistake is the first field that an error complains about; the zero value when it names none.
func firstMistake(err error) fault.FieldErrors {
	if known, ok := errors.AsType[*fault.Error](err); ok && len(known.Fields()) > 0 {
		return known.Fields()[0]
	}
	return fault.FieldErrors{}
}

// where is the member, header, query parameter or part of the path that is wrong; nil when no
// single one is.
func (p Problem) where(c echo.Context, err error) *string {
	if known, ok := errors.AsType[*fault.Error](err); ok && (len(known.Fields()) > 0 || known.Kind() == fault.Invalid) {
		return new(cmp.Or(firstMistake(err).Name, jsonbody.Body))
	}
	for _, part := range p.parts {
		if slices.Contains(c.ParamNames(), part) || c.QueryParams().Has(part) {
			return &part
		}
	}
	if p.param == "" {
		return nil
	}
	return &p.param
}

// timeouts are how a call ends that took too long.
var timeouts = []error{context.DeadlineExceeded, context.Canceled}
