package users

import (
	"strings"
	"time"

	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/orgs"
)

// Query selects the members of an organization who match all of its fields.
type Query struct {
	// Text finds members who have words that begin with all its Terms. Blank: all members. A text
	// without any term finds none.
	Text string
	// Username and Email are the complete username and e-mail, without regard to case; empty: any.
	Username, Email string
	// Locked selects only locked members, Active only members who are not.
	Locked, Active bool
	// From and Before select members who were added at this moment or later, and earlier; zero: at
	// any time.
	From, Before time.Time
	// WithoutAddress selects only members without any address: no message reaches them.
	WithoutAddress bool
	// Role selects only members with this role; empty: any.
	Role Role
	// Group selects only members of this group; 0: of any and none.
	Group orgs.GroupID
	// List and Application are the ids of a lists.List that members are on with any address, and of
	// an applications.Application that they are registered with; 0: any and none. They have no
	// own types here, because those packages know this one.
	List, Application int64
	// Metadata selects members by their custom fields.
	Metadata metadata.Condition
	// Sort is the order in which members are found; empty: the one that takes the least reading.
	Sort Sort
	// After is the end of the batch before this one; zero: from the beginning.
	After Cursor
	// Since is the last member of the batch before this one, for callers without a cursor; 0: After
	// is used.
	Since MemberID
	Limit int
}

// Trimmed returns the query without white space around its texts.
func (q Query) Trimmed() Query {
	q.Text = strings.TrimSpace(q.Text)
	q.Metadata.Path, q.Metadata.Text = strings.TrimSpace(q.Metadata.Path), strings.TrimSpace(q.Metadata.Text)
	return q
}

// IsZero reports whether the query selects all members.
func (q Query) IsZero() bool {
	q.After, q.Since, q.Limit, q.Sort = Cursor{}, 0, 0, ""
	return q == Query{}
}

// Sort is an order that a query may ask for.
type Sort string

// The orders. Names are sorted by last name, then by first name.
const (
	ByName              Sort = "name"
	ByNameBackwards     Sort = "-name"
	ByUsername          Sort = "username"
	ByUsernameBackwards Sort = "-username"
	ByAdded             Sort = "added"
	ByAddedBackwards    Sort = "-added"
)

// Sorts returns all orders.
func Sorts() []Sort {
	return []Sort{ByName, ByNameBackwards, ByUsername, ByUsernameBackwards, ByAdded, ByAddedBackwards}
}

// Backwards reports whether the order begins with the last.
func (s Sort) Backwards() bool { return strings.HasPrefix(string(s), "-") }

// Order is the order in which a query finds members. The one that needs the fewest reads is chosen
// at the beginning, and kept; it is the Sort if the query has one.
type Order string

// The orders.
const (
	ByID    Order = "id"
	ByWord  Order = "word"  // that begins with a term: members with the exact term first, then by name
	ByEntry Order = "entry" // of the list
)

// Cursor is a position in the matches of a query. It may be that of a member who is no match, so
// callers must not see it.
type Cursor struct {
	Order Order
	ID    int64
	Key   string // of ByWord and of a Sort
	Term  string // of ByWord: the one whose words are gone through
}

// IsZero reports whether the cursor stands at the beginning.
func (c Cursor) IsZero() bool { return c == Cursor{} }

// Found is a batch of the matches of a query. It may contain fewer members than the limit, or none,
// although there are more: a search for few matches among many members pauses before it has found
// them.
type Found struct {
	Members []Member
	Added   map[MemberID]time.Time // when each of them became a member
	Next    Cursor                 // where the next batch begins
	More    bool                   // whether the next batch may contain any
}

// Total is how many members match a query. If there may be More, N is how many were counted.
type Total struct {
	N    int
	More bool
}

// Indexing is the progress of the organization's search index.
type Indexing struct {
	// Building is set while all members are being indexed; Done is the percentage.
	Building bool
	Done     int
	// Waiting is how many members of a batch are not indexed yet and follow soon; at most
	// MaxWaiting are counted.
	Waiting int
}

// MaxWaiting is how many members that wait for the index are counted.
const MaxWaiting = 1_000
