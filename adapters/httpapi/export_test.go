package httpapi

import "slices"

// ProblemTable returns the table of all errors of the API, by status.
func ProblemTable() []Problem { return slices.Clone(problems) }
