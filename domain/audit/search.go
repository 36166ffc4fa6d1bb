package audit

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
)

// Query selects entries of an organization, or of the installation itself. Empty and zero fields
// restrict nothing.
type Query struct {
	Organization orgs.ID // 0: of the installation
	Actor        string  // their name
	Via          Via
	Action       Action // its prefix: `member.` selects all actions on members
	Object       string // the prefix of the changed object's path
	// Text is words that all occur somewhere in an entry: in the name of the actor, in the action,
	// the object, or the states; without regard to the case of Latin letters.
	Text        string
	From, Until time.Time // at or after From, before Until
	After       Cursor    // the end of the batch before this one; zero: from the newest on
	// Since is the last entry of the batch before this one, for callers without a cursor; 0: After
	// is used. If that entry was removed nothing follows: it was the oldest.
	Since ID
	Limit int
}

// Selects reports whether the query excludes entries within its period.
func (q Query) Selects() bool {
	return q.Text != "" || q.Actor != "" || q.Via != "" || q.Action != "" || q.Object != ""
}

// Trimmed returns the query without white space around its texts.
func (q Query) Trimmed() Query {
	q.Actor, q.Object, q.Text = strings.TrimSpace(q.Actor), strings.TrimSpace(q.Object), strings.TrimSpace(q.Text)
	q.Via, q.Action = Via(strings.TrimSpace(string(q.Via))), Action(strings.TrimSpace(string(q.Action)))
	return q
}

// State returns the query for its entry in the audit log.
func (q Query) State() State {
	s := State{}
	for name, text := range map[string]string{"text": q.Text, "actor": q.Actor, "via": string(q.Via), "action": string(q.Action), "object": q.Object} {
		if text != "" {
			s[name] = text
		}
	}
	for name, moment := range map[string]time.Time{"from": q.From, "until": q.Until} {
		if !moment.IsZero() {
			s[name] = moment.UTC().Format(time.RFC3339)
		}
	}
	return s
}

// Cursor is a position between entries, in the order of their time.
type Cursor struct {
	At time.Time
	ID ID
}

// IsZero reports whether the cursor is before the newest entry.
func (c Cursor) IsZero() bool { return c.ID == 0 }

// Compare returns -1 if the entry of c is older than that of other, 1 if it is newer, and 0 if they
// are the same.
func (c Cursor) Compare(other Cursor) int {
	return cmp.Or(c.At.Compare(other.At), cmp.Compare(c.ID, other.ID))
}

// String returns the cursor as text, empty for the zero one.
func (c Cursor) String() string {
	if c.IsZero() {
		return ""
	}
	return strconv.FormatInt(c.At.UnixMicro(), 10) + "." + strconv.FormatInt(int64(c.ID), 10)
}

// ParseCursor parses the text of String; every other text is the zero cursor.
func ParseCursor(text string) Cursor {
	moment, id, _ := strings.Cut(text, ".")
	micros, errMoment := strconv.ParseInt(moment, 10, 64)
	n, errID := strconv.ParseInt(id, 10, 64)
	if errMoment != nil || errID != nil || n <= 0 || micros < 0 || micros > maxMoment {
		return Cursor{}
	}
	return Cursor{At: time.UnixMicro(micros).UTC(), ID: ID(n)}
}

// maxMoment is the last moment of the year 9999 in microseconds: databases do not support much
// later ones.
const maxMoment = 253_402_300_799_999_999

// Cursor returns the position of the entry among those of its organization.
func (e Entry) Cursor() Cursor { return Cursor{At: e.At, ID: e.ID} }

// Found is a batch of the matches of a query, the newest first. It may contain fewer entries than
// the limit, or none, although there are more: a search for few matches among many entries pauses
// before it has found them.
type Found struct {
	Entries []Entry
	Next    Cursor // where the next batch begins
	More    bool   // whether the next batch may contain any
}

// About selects the entries of an organization about a member, by the exact paths of objects. They
// are paths of users, with a part `/u/`: other objects are not found.
type About struct {
	Organization orgs.ID
	Objects      []string
	// Member is whose creation is among the entries; 0: none. The creation of an earlier member
	// with the same username is never among them.
	Member users.MemberID
	// From is where to begin: after it towards older entries, with the newest when it is zero. With
	// Newer it begins with the entry at From and continues with newer ones.
	From  Cursor
	Newer bool
	Limit int
}
