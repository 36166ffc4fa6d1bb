package lists

import "strings"

// Query asks for recipients of a list.
type Query struct {
	// Prefix is how the address or the username begins, without regard to case where addresses have none. Not empty.
	Prefix string
	// After is where the stretch before this one ended; zero: from the beginning.
	After Cursor
	Limit int
}

// Cursor is a place in what a query finds. It is opaque: what it means depends on the query.
type Cursor struct {
	Way int // which of the names that a recipient can be found by is being looked through
	Key string
	ID  int64
}

// Found is a stretch of what a query finds: first those found by their address, then those found by the username only. The entries of one
// address or user are never torn apart, so that there may be a few more than the limit. There may also be fewer, or none, although
// there are more: looking for few among very many ends, for a while, before it has found them.
type Found struct {
	Recipients []Recipient
	Next       Cursor // where to go on
	More       bool   // whether that may find any
}

// Trimmed is the query as people mean it: white space around the prefix is none of it.
func (q Query) Trimmed() Query {
	q.Prefix = strings.TrimSpace(q.Prefix)
	return q
}
