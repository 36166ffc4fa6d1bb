package users

import (
	"strings"
	"time"

	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/orgs"
)

// Query asks for the members of an organization of whom all that it says is true.
type Query struct {
	// Text is what members are found by: they have words that begin with all its Terms. Blank:
	// anybody. A text without any term finds nobody.
	Text string
	// Username and Email are the whole of what a member is called, without regard to case; empty:
	// anything.
	Username, Email string
	// Locked asks for members who are locked only, Active for those who are not.
	Locked, Active bool
	// From and Before ask for members who became so at this moment or later, and earlier; zero: at
	// any time.
	From, Before time.Time
	// Unreached asks for members without any address only: no message will ever reach them.
	Unreached bool
	// Role asks for members with this role only; empty: any.
	Role Role
	// Group asks for members of this group only; 0: of any and none.
	Group orgs.GroupID
	// List and Application are the ids of a lists.List that members are on with any address, and of
	// an applications.Application that they are registered with; 0: any and none. They have no
	// types of their own here, because those packages know this one.
	List, Application int64
	// Metadata asks for members whose custom fields are so.
	Metadata metadata.Condition
	// Sort is the order in which members are found; empty: the one that takes the least reading.
	Sort Sort
	// After is where the batch before this one ended; zero: from the beginning.
	After Cursor
	// Since is whom the batch before this one ended with, for those who know no cursor; 0: After
	// says where.
	Since MemberID
	Limit int
}

// Trimmed is the query as people mean it: white space around what they typed is none of it.
func (q Query) Trimmed() Query {
	q.Text = strings.TrimSpace(q.Text)
	q.Metadata.Path, q.Metadata.Text = strings.TrimSpace(q.Metadata.Path), strings.TrimSpace(q.Metadata.Text)
	return q
}

// IsZero reports whether the query asks for all members.
func (q Query) IsZero() bool {
	q.After, q.Since, q.Limit, q.Sort = Cursor{}, 0, 0, ""
	return q == Query{}
}

// Sort is an order that a query asks for.
type Sort string

// The orders that may be asked for. Names are sorted by last name, then by first name.
const (
	ByName              Sort = "name"
	ByNameBackwards     Sort = "-name"
	ByUsername          Sort = "username"
	ByUsernameBackwards Sort = "-username"
	ByAdded             Sort = "added"
	ByAddedBackwards    Sort = "-added"
)

// Sorts returns every order that may be asked for.
func Sorts() []Sort {
	return []Sort{ByName, ByNameBackwards, ByUsername, ByUsernameBackwards, ByAdded, ByAddedBackwards}
}

// Backwards reports whether the order begins with the last.
func (s Sort) Backwards() bool { return strings.HasPrefix(string(s), "-") }

// Order is in which order a query finds members. Which one takes the least reading is decided at
// the beginning, and kept. It is the Sort where the query asks for one.
type Order string

// The orders.
const (
	ByID    Order = "id"
	ByWord  Order = "word"  // that begins with a term: those who have the term itself first; with the same word by name
	ByEntry Order = "entry" // of the list
)

// Cursor is a place in what a query finds. It may be that of a member who is not found, so it is
// not for others to see.
type Cursor struct {
	Order Order
	ID    int64
	Key   string // of ByWord and of a Sort
	Term  string // of ByWord: the one whose words are gone through
}

// IsZero reports whether the cursor stands at the beginning.
func (c Cursor) IsZero() bool { return c == Cursor{} }

// Found is a batch of what a query finds. It may hold fewer members than the limit, or none,
// although there are more: looking for few among very many ends, for a while, before it has found
// them.
type Found struct {
	Members []Member
	Added   map[MemberID]time.Time // when each of them became a member
	Next    Cursor                 // where to go on
	More    bool                   // whether that may find any
}

// Total is how many members a query means. Where there may be More, N is how many were counted.
type Total struct {
	N    int
	More bool
}

// Indexing is how far the organization's members can be found by their words.
type Indexing struct {
	// Building is set while all of them are being indexed, of whom Done of a hundred have been.
	Building bool
	Done     int
	// Waiting are those whom a unit of work has written together with others, and who follow soon;
	// at most MaxWaiting are counted.
	Waiting int
}

// MaxWaiting is how many of those who wait to be indexed are counted.
const MaxWaiting = 1_000
