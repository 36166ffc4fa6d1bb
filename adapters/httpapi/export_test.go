package httpapi

import "slices"

// ProblemTable returns the table of all errors of the API, by status.
func ProblemTable() []Problem { return slices.Clone(problems) }

// DecodedMemory returns how much memory a JSON text takes, beside its own, when it is decoded.
func DecodedMemory(text []byte) int64 { return decodedMemory(text) }

// PagedRoutes returns the POST routes whose requests are stored after their units of work.
func PagedRoutes() []string { return pagedRoutes() }
