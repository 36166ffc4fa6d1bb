package lists

import "github.com/tocsin/tocsin/domain/users"

// Query asks for recipients of a list.
type Query struct {
	// Text has words that the recipients' holders are found by (users.Words). Not empty.
	Text string
	// After is where the batch before this one ended; zero: from the beginning.
	After users.Cursor
	Limit int // how many people are found at most
}

// Found is a batch of what a query finds: every entry of each person. There may be fewer people
// than the limit, or none, although there are more: looking for few among very many ends, for a
// while, before it has found them.
type Found struct {
	Recipients []Recipient
	Next       users.Cursor // where to go on
	More       bool         // whether that may find any
}
