package audit

import (
	"strconv"
	"strings"
	"time"

	"github.com/tocsin/tocsin/domain/orgs"
)

// Query asks for the entries of an organization, or of the installation itself. What is empty or
// zero restricts nothing.
type Query struct {
	Organization orgs.ID // 0: of the installation
	Actor        string  // their name
	Via          Via
	Action       Action // how it begins: `member.` stands for all that is done to members
	Object       string // how the path of what was changed begins
	// Text is words each of which stands anywhere in an entry: in the name of who did it, in the
	// action, the object, or what was before or after; without regard to the case of Latin letters.
	Text        string
	From, Until time.Time // at or after From, before Until
	After       Cursor    // where the batch before this one ended; zero: from the newest on
	// Since is the entry that the batch before this one ended with, for those who know no cursor;
	// 0: After says where. Nothing is left behind one that is there no more: it was the oldest.
	Since ID
	Limit int
}

// Selects reports whether the query leaves out entries within its time.
func (q Query) Selects() bool {
	return q.Text != "" || q.Actor != "" || q.Via != "" || q.Action != "" || q.Object != ""
}

// Trimmed is the query as people mean it: white space around a text is none of it.
func (q Query) Trimmed() Query {
	q.Actor, q.Object, q.Text = strings.TrimSpace(q.Actor), strings.TrimSpace(q.Object), strings.TrimSpace(q.Text)
	q.Via, q.Action = Via(strings.TrimSpace(string(q.Via))), Action(strings.TrimSpace(string(q.Action)))
	return q
}

// State is what an entry about the query tells of it.
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

// Cursor is a place between entries, in the order of their time.
type Cursor struct {
	At time.Time
	ID ID
}

// IsZero reports whether the cursor stands before the newest entry.
func (c Cursor) IsZero() bool { return c.ID == 0 }

// String is the cursor as a text, empty for the zero one.
func (c Cursor) String() string {
	if c.IsZero() {
		return ""
	}
	return strconv.FormatInt(c.At.UnixMicro(), 10) + "." + strconv.FormatInt(int64(c.ID), 10)
}

// ParseCursor reads what String has written; every other text is the zero cursor.
func ParseCursor(text string) Cursor {
	moment, id, _ := strings.Cut(text, ".")
	micros, errMoment := strconv.ParseInt(moment, 10, 64)
	n, errID := strconv.ParseInt(id, 10, 64)
	if errMoment != nil || errID != nil || n <= 0 || micros < 0 || micros > maxMoment {
		return Cursor{}
	}
	return Cursor{At: time.UnixMicro(micros).UTC(), ID: ID(n)}
}

// maxMoment is the last moment of the year 9999 in microseconds: databases know none that are much
// later.
const maxMoment = 253_402_300_799_999_999

// Cursor is the place of the entry among those of its organization.
func (e Entry) Cursor() Cursor { return Cursor{At: e.At, ID: e.ID} }

// Found is a batch of what a query asks for, the newest first. It may hold fewer entries than the
// limit, or none, although there are more: looking for few among very many ends, for a while,
// before it has found them.
type Found struct {
	Entries []Entry
	Next    Cursor // where to go on
	More    bool   // whether that may find any
}

// About asks for the entries of an organization about some objects, to the letter. They are paths
// of people, which have a part `/u/`: other objects are not found.
type About struct {
	Organization orgs.ID
	Objects      []string
	// From is where to begin: behind it with the newest, from the newest on when it is zero. With
	// Newer it begins with the entry at From and goes on to newer ones.
	From  Cursor
	Newer bool
	Limit int
}
