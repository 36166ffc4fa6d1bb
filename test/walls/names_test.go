package walls_test

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Ids differ from other numbers: those of the table number k begin at (firstTable+k)*tableStride.
// Those of the observing organization begin ownIDs higher, whatever was created before.
const (
	firstTable  = 10
	tableStride = 100_000_000_000
	ownIDs      = 5_000_000
	allIDs      = 100_000_000
)

// random matches everything in an answer that may differ between installations: secrets, sealed
// values, and ids. It matches within a word, which may have a % before it.
var random = regexp.MustCompile(`tcs_[0-9a-f]{64}|[0-9a-f]{64}|[A-Za-z0-9_-]{38,}|%2F[1-9][0-9]{12}|\b[1-9][0-9]{12}\b`)

// shortest is the length of the shortest match of random.
const shortest = 13

// inWord reports whether a byte is part of a word, for random.
func inWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c == '_' || c == '-'
}

// names gives names to the random values in the answers of an installation, in the order in which
// they are first seen.
type names struct {
	tables []string // sorted
	known  map[string]string
	count  map[string]int
	ids    map[string][]string // those that were seen, by table
	tokens []string            // those that were seen
}

func newNames(tables []string) *names {
	return &names{tables: tables, known: map[string]string{}, count: map[string]int{}, ids: map[string][]string{}}
}

// table returns the table of an id; empty when the number is not an id.
func (n *names) table(number string) string {
	id, err := strconv.ParseInt(number, 10, 64)
	if err != nil || id%tableStride >= allIDs || id/tableStride < firstTable || id/tableStride >= int64(firstTable+len(n.tables)) {
		return ""
	}
	return n.tables[id/tableStride-firstTable]
}

// replace replaces the random values in a text by names. It searches only long words: with the race
// detector, a search of whole pages took most of the time of these tests.
func (n *names) replace(text string) string {
	var replaced strings.Builder
	copied := 0
	for i := 0; i < len(text); i++ {
		if !inWord(text[i]) {
			continue
		}
		from := i
		for i < len(text) && inWord(text[i]) {
			i++
		}
		if i-from < shortest {
			continue
		}
		if from > 0 && text[from-1] == '%' {
			from--
		}
		replaced.WriteString(text[copied:from])
		replaced.WriteString(random.ReplaceAllStringFunc(text[from:i], n.name))
		copied = i
	}
	replaced.WriteString(text[copied:])
	return replaced.String()
}

// name returns the name of a random value.
func (n *names) name(found string) string {
	if id, within := strings.CutPrefix(found, "%2F"); within { // A path in a query.
		return "%2F" + n.replace(id)
	}
	if name, seen := n.known[found]; seen {
		return name
	}
	kind := "secret"
	if len(found) == shortest {
		if kind = n.table(found); kind == "" {
			return found
		}
		n.ids[kind] = append(n.ids[kind], found)
	} else {
		n.tokens = append(n.tokens, found)
	}
	n.count[kind]++
	n.known[found] = fmt.Sprintf("‹%s %d›", kind, n.count[kind])
	return n.known[found]
}

// pick returns an id of a table that was seen, or now and then one that was not: perhaps of the
// other organization.
func (n *names) pick(r *rand.Rand, table string) string {
	seen := n.ids[table]
	switch chance := r.IntN(20); {
	case chance == 0:
		return oneOf(r, "0", "-1", "x", "99999999999999999999")
	case chance < 5 || len(seen) == 0:
		return n.foreign(r, table)
	}
	return seen[r.IntN(len(seen))]
}

// newest returns the id of a table that was seen last, or one of the other organization.
func (n *names) newest(r *rand.Rand, table string) string {
	if seen := n.ids[table]; len(seen) > 0 && r.IntN(4) > 0 {
		return seen[len(seen)-1]
	}
	return n.foreign(r, table)
}

// firstForeign is the lowest id of a table, from its beginning, that the other organization may
// have.
const firstForeign = 2

// foreign returns an id of a table that the other organization may have.
func (n *names) foreign(r *rand.Rand, table string) string {
	return n.id(table, firstForeign+r.IntN(8))
}

// id returns the id of a table with this number from the table's beginning.
func (n *names) id(table string, number int) string {
	return strconv.Itoa((firstTable+slices.Index(n.tables, table))*tableStride + number)
}

// anyID returns an id of any table.
func (n *names) anyID(r *rand.Rand) string { return n.pick(r, n.tables[r.IntN(len(n.tables))]) }

// token returns a secret that was seen, or an invalid one.
func (n *names) token(r *rand.Rand) string {
	if len(n.tokens) == 0 || r.IntN(4) == 0 {
		return strings.Repeat("ab", 32)
	}
	return n.tokens[r.IntN(len(n.tokens))]
}

// The users of both organizations, and further names that scripts may create users with.
var usernames = []string{"ada", "Ben", "bob@globex.example", "carl@example.org", "eva", "oli", "vic", "zoe", "ZOE", "max", "nobody@example.org", "stranger"}

// sentence generates free text.
func sentence(r *rand.Rand) string {
	return oneOf(r, "spare", "all", "Staff", "mail", "web", "Board", "x", "two words", "<b>")
}

func oneOf(r *rand.Rand, words ...string) string { return words[r.IntN(len(words))] }

func username(r *rand.Rand) string { return oneOf(r, usernames...) }

func mailOf(name string) string {
	if strings.Contains(name, "@") {
		return name
	}
	return name + "@example.org"
}

// address returns the value of an address that both organizations have.
func address(r *rand.Rand) string {
	return oneOf(r, mailOf(username(r)), mailOf(username(r)), "+14155552671", "https://hooks.example/1", "room 5")
}

// escape returns a text as a segment of a path.
func escape(text string) string { return url.PathEscape(text) }
