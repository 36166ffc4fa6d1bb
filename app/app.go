// Package app is the use cases: one struct for each area, one method for each thing a caller can ask for, each a single unit of
// work. It speaks in terms of the domain and knows no HTTP, no SQL and no terminal.
package app

// Path names a place in the tenancy by the slugs of a URL; levels that a use case does not need are empty.
type Path struct {
	Organization string
	Project      string
	Application  string
}

// Page is a stretch of a list ordered by id: at most Limit entries with ids greater than After.
type Page struct {
	After int64
	Limit int
}
