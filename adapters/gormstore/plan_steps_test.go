package gormstore_test

import (
	"database/sql"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// planner asks a database how it would go about a statement.
type planner struct {
	t        *testing.T
	conn     *sql.Conn
	postgres bool
	cached   bool // plans are made for arrays of any length
}

// plan is how a statement would be gone about.
type plan struct {
	text          string
	steps         []step // those that read tables
	sorts, counts bool
}

// step reads a table, along an index as a rule.
type step struct {
	table, index string
	equal        []string // columns of the index that are known
	between      bool     // a column of the index has both bounds
}

// sharedColumns are columns whose value very many rows have in common.
var sharedColumns = []string{"organization_id", "list_id", "application_id", "group_id", "notification_id", "occurrence_id", "channel_id", "state", "part", "via"}

// few are indexes that hold only what is waiting.
var few = []string{"occurrences_unexpanded", "deliveries_waiting", "deliveries_due"}

// whole reports whether a step reads a whole table.
func (s step) whole() bool { return len(s.equal) == 0 && !s.between && !slices.Contains(few, s.index) }

// unselective reports whether a step may find very many.
func (s step) unselective() bool {
	crowds := []string{"users", "members", "addresses", "assignments", "list_entries", "application_memberships", "member_group_links", "subscriptions", "opt_outs",
		"deliveries", "occurrences", "occurrence_tallies", "audit_entries", "mailbox_messages", "import_rejects"}
	return slices.Contains(crowds, s.table) && !slices.ContainsFunc(s.equal, func(c string) bool { return !slices.Contains(sharedColumns, c) })
}

var (
	quoted   = regexp.MustCompile(`"((?:[^"]|"")*)"`)
	arrays   = regexp.MustCompile(`(ANY|CAST)\('\[([^\[\]{}"]*)\]'`)
	numbers  = regexp.MustCompile(`ANY\('(\{[0-9,]+\})'\)`)
	texts    = regexp.MustCompile(`ANY\('(\{[^{}']*[^{}',0-9][^{}']*\})'\)`)
	named    = regexp.MustCompile("(?i)(?:FROM|JOIN|UPDATE|INTO) `?\"?(\\w+)`?\"?(?: (?:AS )?(\\w+))?")
	onSQLite = regexp.MustCompile(`^(?:SCAN|SEARCH) (\w+)(?: EXISTS)?(?: USING (?:COVERING |AUTOMATIC )*(?:INDEX (\w+)|INTEGER PRIMARY KEY|PRIMARY KEY))?(?: \((.*)\))?`)
	known    = regexp.MustCompile(`(\w+)=\?`)
	ranges   = regexp.MustCompile(`(\w+)>\? AND (\w+)<\?`)
	scans    = regexp.MustCompile(`(?:Seq Scan|Index(?: Only)? Scan(?: Backward)? using (\w+)) on (\w+)`)
	knownPG  = regexp.MustCompile(`\((\w+) (?:=|IS NULL)`)
	rangesPG = regexp.MustCompile(`\((\w+) >=? .* AND \((\w+) <=? `)
	// bounded is how very many rows are counted: no further than a limit.
	bounded = regexp.MustCompile(`COUNT\(\*\)(?: AS \w+)? FROM \(\s*SELECT 1\b.*LIMIT`)
)

// plan returns the plan of a statement as it was overheard, with its parameters in it.
func (p planner) plan(statement string) plan {
	p.t.Helper()
	tables := map[string]string{} // by the names that they have in the statement
	for _, found := range named.FindAllStringSubmatch(statement, -1) {
		tables[found[1]] = found[1]
		if found[2] != "" {
			tables[found[2]] = found[1]
		}
	}
	found := plan{counts: strings.Contains(statement, "COUNT(") && !bounded.MatchString(strings.ReplaceAll(statement, "\n", " "))}
	if strings.HasPrefix(statement, "INSERT") && !strings.Contains(statement, "SELECT") || strings.HasPrefix(statement, "SET ") {
		return found // It has no plan.
	}
	if p.postgres {
		p.postgresPlan(statement, &found)
	} else {
		p.sqlitePlan(statement, tables, &found)
	}
	return found
}

// sqlitePlan parses the lines of EXPLAIN QUERY PLAN. Texts have single quotes there, because
// otherwise they could be columns.
func (p planner) sqlitePlan(statement string, tables map[string]string, into *plan) {
	p.t.Helper()
	statement = quoted.ReplaceAllStringFunc(statement, func(text string) string {
		return "'" + strings.ReplaceAll(strings.ReplaceAll(text[1:len(text)-1], `""`, `"`), "'", "''") + "'"
	})
	exists := map[string]bool{}
	for _, table := range lines(p.t, p.conn, 0, "SELECT name FROM sqlite_master WHERE type = 'table'") {
		exists[table] = true
	}
	steps := lines(p.t, p.conn, 3, "EXPLAIN QUERY PLAN "+statement)
	into.text = strings.Join(steps, "\n")
	into.sorts = strings.Contains(into.text, "TEMP B-TREE")
	for _, line := range steps {
		read := onSQLite.FindStringSubmatch(line)
		if len(read) == 0 || !exists[tables[read[1]]] {
			continue
		}
		s := step{table: tables[read[1]], index: read[2]}
		for _, column := range known.FindAllStringSubmatch(read[3], -1) {
			s.equal = append(s.equal, column[1])
		}
		for _, column := range ranges.FindAllStringSubmatch(read[3], -1) {
			s.between = s.between || column[1] == column[2]
		}
		into.steps = append(into.steps, s)
	}
}

// postgresPlan parses the lines of EXPLAIN. It writes the driver's arrays in the syntax of
// Postgres.
func (p planner) postgresPlan(statement string, into *plan) {
	p.t.Helper()
	statement = arrays.ReplaceAllStringFunc(statement, func(array string) string {
		return strings.ReplaceAll(strings.NewReplacer("[", "{", "]", "}").Replace(array), " ", ",")
	})
	if p.cached {
		statement = numbers.ReplaceAllString(statement, "ANY((SELECT '$1'::bigint[])::bigint[])")
		statement = texts.ReplaceAllString(statement, "ANY((SELECT '$1'::text[])::text[])")
	}
	steps := lines(p.t, p.conn, 0, "EXPLAIN (COSTS OFF) "+statement)
	into.text = strings.Join(steps, "\n")
	for i, line := range steps {
		into.sorts = into.sorts || strings.TrimLeft(line, " ->") == "Sort"
		read := scans.FindStringSubmatch(line)
		if read == nil {
			continue
		}
		s := step{table: read[2], index: read[1]}
		if i+1 < len(steps) && strings.Contains(steps[i+1], "Index Cond:") {
			for _, column := range knownPG.FindAllStringSubmatch(steps[i+1], -1) {
				s.equal = append(s.equal, column[1])
			}
			for _, column := range rangesPG.FindAllStringSubmatch(steps[i+1], -1) {
				s.between = s.between || column[1] == column[2]
			}
		}
		into.steps = append(into.steps, s)
	}
}
