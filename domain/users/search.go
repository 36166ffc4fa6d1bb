package users

import "strings"

// Query asks for members of an organization.
type Query struct {
	// Prefix is how the username or the e-mail begins, without regard to case; empty: anyhow.
	Prefix string
	// Locked asks for members who are locked only.
	Locked bool
	// After is where the stretch before this one ended; zero: from the beginning.
	After Cursor
	Limit int
}

// Cursor is a place in what a query finds. It is opaque: what it means depends on the query.
type Cursor struct {
	Key string
	ID  int64
}

// Found is a stretch of what a query finds, by id, or with a prefix by the username or e-mail that begins so. It may hold fewer members than the
// limit, or none, although there are more: looking for few among very many ends, for a while, before it has found them.
type Found struct {
	Members []Member
	Next    Cursor // where to go on
	More    bool   // whether that may find any
}

// IsZero tells whether the cursor stands at the beginning.
func (c Cursor) IsZero() bool { return c == Cursor{} }

// Trimmed is the query as people mean it: white space around the prefix is none of it.
func (q Query) Trimmed() Query {
	q.Prefix = strings.TrimSpace(q.Prefix)
	return q
}
