package gormstore

import (
	"strings"

	"github.com/tocsin/tocsin/domain/names"
	"github.com/tocsin/tocsin/domain/users"
)

// conditions is a query for members m that is being built.
type conditions struct {
	columns, clauses []string
	columnArgs, args []any
}

func (c *conditions) add(clause string, args ...any) {
	c.clauses = append(c.clauses, clause)
	c.args = append(c.args, args...)
}

func (c *conditions) query() (sql string, args []any) {
	return "SELECT " + strings.Join(c.columns, ", ") + " FROM members m WHERE " + strings.Join(c.clauses, " AND "), append(c.columnArgs, c.args...)
}

// onList selects the entries e of a member m on a list. CROSS JOIN makes SQLite start with the
// member's addresses, not with the list.
const onList = `FROM addresses a CROSS JOIN assignments s CROSS JOIN list_entries e
	WHERE e.list_id = ? AND e.assignment_id = s.id AND s.address_id = a.id AND a.organization_id = m.organization_id AND a.member_id = m.id`

// ofMember selects the words of a member m in a range.
const ofMember = "FROM member_words w WHERE w.member_id = m.id AND w.word >= ? AND w.word < ?"

// conditions returns the conditions of the query that the source does not cover. The planner must
// not use an index of the organization, because the ids of the members are given.
func (s search) conditions(by source) *conditions {
	c := &conditions{columns: []string{"m.id", "octet_length(m.custom_fields) AS size"}}
	c.add(unindexed("m.organization_id")+" = ?", s.org)
	for _, term := range s.terms {
		if term != by.term {
			c.add(exists("SELECT 1 "+ofMember), term, term+users.PrefixEnd)
		}
	}
	if by.order == users.ByWord {
		c.columns = append(c.columns, "(SELECT MIN(w.word) "+ofMember+") AS word")
		c.columnArgs = append(c.columnArgs, by.term, by.term+users.PrefixEnd)
	}
	if s.q.Username != "" {
		c.add("m.username_fold = ?", names.Fold(s.q.Username))
	}
	if s.q.Email != "" {
		c.add("m.email_fold = ?", names.Fold(s.q.Email))
	}
	if s.q.Locked {
		c.add("m.locked")
	}
	if s.q.Active {
		c.add("NOT m.locked")
	}
	if !s.q.From.IsZero() {
		c.add("m.created_at >= ?", stamp(s.q.From))
	}
	if !s.q.Before.IsZero() {
		c.add("m.created_at < ?", stamp(s.q.Before))
	}
	if s.q.Role != "" {
		c.add("m.role = ?", s.q.Role)
	}
	if s.q.WithoutAddress {
		c.add("NOT " + exists("SELECT 1 FROM addresses a WHERE a.organization_id = m.organization_id AND a.member_id = m.id"))
	}
	if s.q.Group != 0 {
		c.add(exists("SELECT 1 FROM member_group_links l WHERE l.member_id = m.id AND l.group_id = ?"), s.q.Group)
	}
	if s.q.Application != 0 {
		c.add(exists("SELECT 1 FROM application_memberships x WHERE x.member_id = m.id AND x.application_id = ?"), s.q.Application)
	}
	if by.order == users.ByEntry {
		c.columns = append(c.columns, "(SELECT MIN(e.assignment_id) "+onList+") AS first")
		c.columnArgs = append(c.columnArgs, s.q.List)
	} else if s.q.List != 0 {
		c.add(exists("SELECT 1 "+onList), s.q.List)
	}
	if !s.q.Metadata.IsZero() {
		c.columns = append(c.columns, "m.custom_fields")
		for _, trace := range s.q.Metadata.Substrings() {
			c.add(s.dialect.contains("m.custom_fields"), trace)
		}
	}
	return c
}
