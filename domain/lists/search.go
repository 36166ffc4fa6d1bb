package lists

import "github.com/tocsin/tocsin/domain/users"

// Query selects recipients of a list.
type Query struct {
	// Text has words that the recipients' holders are found by (users.Words). Not empty.
	Text string
	// After is the end of the batch before this one; zero: from the beginning.
	After users.Cursor
	Limit int // how many people are found at most
	// Recipients is how many entries of each are returned at most.
	Recipients int
}

// Found is a batch of the matches of a query: every entry of each member, unless they have more
// than Query.Recipients. It may contain fewer members than the limit, or none, although there are
// more: a search for few matches among many members pauses before it has found them.
type Found struct {
	Recipients []Recipient
	Next       users.Cursor // where the next batch begins
	More       bool         // whether the next batch may contain any
}
