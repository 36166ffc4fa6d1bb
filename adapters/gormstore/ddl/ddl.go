// Package ddl predicts how the statements of a Postgres migration affect concurrent sessions. It
// knows the forms of statements in our migrations, and assumes the worst for others.
package ddl

import (
	"regexp"
	"strings"
)

// The locks of a table, from the weakest to the strongest.
const (
	LockNone      = "none"                   // the table is new, or there is none
	LockWrites    = "ROW EXCLUSIVE"          // others read and write, except the changed rows
	LockUpkeep    = "SHARE UPDATE EXCLUSIVE" // others read and write
	LockReaders   = "SHARE"                  // others read, and wait to write
	LockReference = "SHARE ROW EXCLUSIVE"    // the same
	LockAll       = "ACCESS EXCLUSIVE"       // others wait
)

// Work is how long a statement takes.
type Work string

// The kinds of work.
const (
	Moment  Work = "a moment"
	Reads   Work = "reads all rows"
	Changes Work = "changes rows"
	Rewrite Work = "writes all rows anew"
)

// Step is a statement.
type Step struct {
	Statement string // in one line
	Table     string // empty: none
	Lock      string
	Work      Work
	// Contracts reports whether a program that knows only earlier migrations may fail after it.
	Contracts bool
}

// Blocks reports whether other sessions wait for a noticeable time.
func (s Step) Blocks() bool {
	return s.Work != Moment && (s.Lock == LockAll || s.Lock == LockReaders || s.Lock == LockReference)
}

// form is the pattern of a statement, and its effect.
type form struct {
	like      *regexp.Regexp // its first group is the table
	lock      string
	work      Work
	contracts bool
}

const (
	name  = `"?([a-z_]+)"?`
	alter = `(?i)^ALTER TABLE (?:IF EXISTS )?(?:ONLY )?` + name + ` `
)

// forms are tried in this order.
var forms = []form{
	{regexp.MustCompile(`(?i)^CREATE (?:UNLOGGED )?TABLE (?:IF NOT EXISTS )?` + name), LockNone, Moment, false},
	{regexp.MustCompile(`(?i)^DROP TABLE (?:IF EXISTS )?` + name), LockAll, Moment, true},
	{regexp.MustCompile(`(?i)^CREATE (?:UNIQUE )?INDEX CONCURRENTLY (?:IF NOT EXISTS )?\w+ ON ` + name), LockUpkeep, Reads, false},
	{regexp.MustCompile(`(?i)^CREATE UNIQUE INDEX (?:IF NOT EXISTS )?\w+ ON (?:ONLY )?` + name), LockReaders, Reads, true},
	{regexp.MustCompile(`(?i)^CREATE INDEX (?:IF NOT EXISTS )?\w+ ON (?:ONLY )?` + name), LockReaders, Reads, false},
	{regexp.MustCompile(`(?i)^DROP INDEX CONCURRENTLY ()`), LockUpkeep, Moment, false},
	{regexp.MustCompile(`(?i)^DROP INDEX ()`), LockAll, Moment, false},
	// A partition from MINVALUE to MAXVALUE is not scanned.
	{regexp.MustCompile(alter + `ATTACH PARTITION \w+ FOR VALUES FROM \(MINVALUE\) TO \(MAXVALUE\)$`), LockUpkeep, Moment, false},
	{regexp.MustCompile(alter + `ALTER (?:COLUMN )?\w+ DROP IDENTITY$`), LockAll, Moment, true},
	{regexp.MustCompile(alter + `ADD CONSTRAINT .* NOT VALID$`), LockReference, Moment, true},
	{regexp.MustCompile(alter + `ADD CONSTRAINT .* USING INDEX `), LockAll, Moment, true},
	{regexp.MustCompile(alter + `ADD (?:CONSTRAINT|CHECK|FOREIGN|UNIQUE|PRIMARY)`), LockAll, Reads, true},
	{regexp.MustCompile(alter + `ADD (?:COLUMN )?(?:IF NOT EXISTS )?\w+ [^,]*(?:REFERENCES|CHECK|UNIQUE|PRIMARY KEY|GENERATED)`), LockAll, Reads, true},
	{regexp.MustCompile(alter + `VALIDATE CONSTRAINT`), LockUpkeep, Reads, false},
	{regexp.MustCompile(alter + `ADD (?:COLUMN )?(?:IF NOT EXISTS )?[^,]*DEFAULT [^,]*\(`), LockAll, Rewrite, false}, // It may be volatile.
	// Since Postgres 11, a constant default does not rewrite the table.
	{regexp.MustCompile(alter + `ADD (?:COLUMN )?(?:IF NOT EXISTS )?[^,]*NOT NULL(?: DEFAULT [^,]+)$`), LockAll, Moment, false},
	{regexp.MustCompile(alter + `ADD (?:COLUMN )?(?:IF NOT EXISTS )?[^,]*DEFAULT [^,]+$`), LockAll, Moment, false},
	{regexp.MustCompile(alter + `ADD (?:COLUMN )?(?:IF NOT EXISTS )?[^,]*NOT NULL`), LockAll, Reads, true},
	{regexp.MustCompile(alter + `ADD (?:COLUMN )?[^,]*$`), LockAll, Moment, false},
	{regexp.MustCompile(alter + `ALTER (?:COLUMN )?\w+ (?:DROP NOT NULL|SET DEFAULT|DROP DEFAULT)`), LockAll, Moment, false},
	{regexp.MustCompile(alter + `ALTER (?:COLUMN )?\w+ (?:SET STATISTICS|SET STORAGE)`), LockUpkeep, Moment, false},
	{regexp.MustCompile(alter + `SET \(`), LockUpkeep, Moment, false},
	{regexp.MustCompile(alter + `ALTER (?:COLUMN )?\w+ SET NOT NULL`), LockAll, Reads, true},
	{regexp.MustCompile(alter + `(?:DROP|RENAME)`), LockAll, Moment, true},
	{regexp.MustCompile(`(?i)^ALTER TABLE (?:IF EXISTS )?(?:ONLY )?` + name), LockAll, Rewrite, true},
	{regexp.MustCompile(`(?i)^ALTER (?:INDEX|SEQUENCE) \w+ (?:RENAME TO|ATTACH PARTITION) ()`), LockUpkeep, Moment, false},
	{regexp.MustCompile(`(?i)^LOCK TABLE (?:ONLY )?` + name + ` IN ACCESS EXCLUSIVE MODE$`), LockAll, Moment, false},
	{regexp.MustCompile(`(?i)^INSERT INTO ` + name), LockWrites, Changes, false},
	{regexp.MustCompile(`(?i)^(?:UPDATE|DELETE FROM) ` + name), LockWrites, Changes, false},
	{regexp.MustCompile(`(?i)^(?:ANALYZE|COMMENT ON|SET|RESET|SELECT) ?()`), LockNone, Moment, false},
}

// worst is the effect of an unknown statement.
var worst = form{lock: LockAll, work: Rewrite, contracts: true}

var (
	renamed  = regexp.MustCompile(alter + `RENAME TO ` + name + `$`)
	foreign  = regexp.MustCompile(`(?i) REFERENCES (?:ONLY )?` + name)
	comments = regexp.MustCompile(`(?m)--.*$`)
	spaces   = regexp.MustCompile(`\s+`)
)

// Steps returns the statements of a migration's up part.
func Steps(migration string) (steps []Step) {
	_, text, _ := strings.Cut(migration, "-- +goose Up")
	text, _, _ = strings.Cut(text, "-- +goose Down")
	fresh := map[string]bool{}
	for _, statement := range split(comments.ReplaceAllString(text, "")) {
		s := stepOf(statement)
		if fresh[s.Table] { // Other sessions do not see it yet.
			s.Lock, s.Work, s.Contracts = LockNone, Moment, false
		}
		if s.Lock == LockNone && s.Table != "" {
			fresh[s.Table] = true
		}
		if m := renamed.FindStringSubmatch(statement); m != nil { // A new table may get its name.
			fresh[m[2]] = true
			s.Contracts = !strings.Contains(text, "CREATE TABLE "+m[1]+" ")
		}
		steps = append(steps, s)
		steps = append(steps, references(s, fresh)...)
	}
	return steps
}

// references returns a statement's effect on the tables that its foreign keys refer to: they cannot
// be written to while it runs, because it adds a trigger to each.
func references(s Step, fresh map[string]bool) (steps []Step) {
	if s.Lock == LockWrites || s.Table == "" {
		return nil
	}
	seen := map[string]bool{s.Table: true}
	for _, m := range foreign.FindAllStringSubmatch(s.Statement, -1) {
		if !seen[m[1]] && !fresh[m[1]] {
			steps = append(steps, Step{Statement: s.Statement, Table: m[1], Lock: LockReference, Work: s.Work})
		}
		seen[m[1]] = true
	}
	return steps
}

func stepOf(statement string) Step {
	for _, f := range forms {
		if m := f.like.FindStringSubmatch(statement); m != nil {
			return Step{Statement: statement, Table: m[1], Lock: f.lock, Work: f.work, Contracts: f.contracts}
		}
	}
	return Step{Statement: statement, Lock: worst.lock, Work: worst.work, Contracts: worst.contracts}
}

// split returns statements in one line each. It ignores semicolons within quotes.
func split(text string) (all []string) {
	var b strings.Builder
	var quote rune
	end := func() {
		if s := strings.TrimSpace(spaces.ReplaceAllString(b.String(), " ")); s != "" {
			all = append(all, s)
		}
		b.Reset()
	}
	for _, r := range text {
		switch {
		case quote == 0 && (r == '\'' || r == '"'):
			quote = r
		case r == quote:
			quote = 0
		case r == ';' && quote == 0:
			end()
			continue
		}
		b.WriteRune(r)
	}
	end()
	return all
}
