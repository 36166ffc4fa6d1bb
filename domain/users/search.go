package users

import (
	"strings"

	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/orgs"
)

// Query asks for the members of an organization of whom all that it says is true.
type Query struct {
	// Prefix is how the username or the e-mail begins, without regard to case; empty: anyhow.
	Prefix string
	// Locked asks for members who are locked only.
	Locked bool
	// Unreached asks for members without any address only: no message will ever reach them.
	Unreached bool
	// Role asks for members with this role only; empty: any.
	Role Role
	// Group asks for members of this group only; 0: of any and none.
	Group orgs.GroupID
	// List and Application are the ids of a lists.List that members are on with any address, and of an applications.Application that they are
	// registered with; 0: any and none. They have no types of their own here, because those packages know this one.
	List, Application int64
	// Metadata asks for members whose custom fields are so.
	Metadata metadata.Condition
	// After is where the stretch before this one ended; zero: from the beginning.
	After Cursor
	Limit int
}

// Trimmed is the query as people mean it: white space around what they typed is none of it.
func (q Query) Trimmed() Query {
	q.Prefix = strings.TrimSpace(q.Prefix)
	q.Metadata.Path, q.Metadata.Text = strings.TrimSpace(q.Metadata.Path), strings.TrimSpace(q.Metadata.Text)
	return q
}

// Order is in which order a query finds members. Which one takes the least reading is decided at the beginning, and kept.
type Order string

// The orders.
const (
	ByID    Order = "id"
	ByName  Order = "name"  // the username or e-mail that begins with the prefix
	ByEntry Order = "entry" // of the list
)

// Cursor is a place in what a query finds. It may be that of a member who is not found, so it is not for others to see.
type Cursor struct {
	Order Order
	ID    int64
	Key   string // of ByName
}

// IsZero reports whether the cursor stands at the beginning.
func (c Cursor) IsZero() bool { return c == Cursor{} }

// Found is a stretch of what a query finds. It may hold fewer members than the limit, or none, although there are more: looking for few among
// very many ends, for a while, before it has found them.
type Found struct {
	Members []Member
	Next    Cursor // where to go on
	More    bool   // whether that may find any
}
