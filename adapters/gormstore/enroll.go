package gormstore

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/tocsin/tocsin/domain/names"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
)

// These methods of userRepo read and write enrolments. An import enrolls thousands of users at a
// time: each statement handles all of them, and rows are scanned by hand.

// errConcurrentChange means that another unit inserted or deleted a row after this unit's snapshot.
// A retry sees the change.
var errConcurrentChange = errors.New("another unit of work has changed the same rows")

// onConflictDoNothing makes a statement skip existing rows. If another unit inserted a row after
// the unit's snapshot, Postgres rejects the unit, which is then retried. Where no row can exist, a
// statement is faster without it.
const onConflictDoNothing = " ON CONFLICT DO NOTHING"

// matchesSQL returns the statement of Matches and its set; its parameter is the organization.
func matchesSQL(d dialect, keys []string) (statement string, set columnSet) {
	set = columnsOf(d, setColumn{"key", keys})
	org := set.arg(1)
	member := memberColumns(d, "m")
	// LIMIT makes Postgres look up one address for each member, instead of reading all addresses.
	holds := ", COALESCE((SELECT TRUE FROM addresses AS a WHERE a.organization_id = " + org +
		" AND a.member_id = m.id AND a.value_key = s.key LIMIT 1), FALSE)"
	columns := member
	if d == onPostgres {
		columns = "m.*"
	}
	return "SELECT s.key, u.id, " + columns + holds + " FROM " + set.from +
		set.joinTable(false, "u.id", "users", "u", "u.username_fold = s.key") +
		set.joinTable(true, member, "members", "m", "m.user_id = u.id AND "+unindexed("m.organization_id")+" = "+org) +
		" UNION ALL SELECT s.key, 0, " + columns + holds + " FROM " + set.from +
		set.joinTable(false, member, "members", "m", firstByEmail(org)), set
}

// firstByEmail returns the condition that a member is the one with the lowest id that has the key
// as their e-mail but not as their username. Any number of members may have one e-mail.
func firstByEmail(org string) string {
	return unindexed("m.organization_id") + " = " + org + " AND m.id = (SELECT o.id FROM members AS o WHERE o.organization_id = " + org +
		" AND o.email_fold = s.key AND o.email_fold <> o.username_fold ORDER BY o.id LIMIT 1)"
}

func (r userRepo) Matches(ctx context.Context, org orgs.ID, keys []string, maxBytes int) (found []users.Match, err error) {
	if len(keys) == 0 {
		return nil, nil
	}
	statement, set := matchesSQL(r.dialect, keys)
	reader := newMemberReader(maxBytes, len(keys))
	err = r.sets().query(r.statementContext(ctx), statement, set.values(), []any{org}, func(rows *sql.Rows) error {
		m, err := scanMatch(rows, reader)
		found = append(found, m)
		return err
	})
	return found, err
}

// matchedBytesSQL returns the statement of MatchedBytes and its set, like matchesSQL.
func matchedBytesSQL(d dialect, keys []string) (statement string, set columnSet) {
	set = columnsOf(d, setColumn{"key", keys})
	org, column := set.arg(1), "m.custom_fields"
	sum := "SELECT COALESCE(SUM(octet_length(" + column + ")), 0) FROM "
	return sum + set.from +
		set.joinTable(false, "u.id", "users", "u", "u.username_fold = s.key") +
		set.joinTable(false, column, "members", "m", "m.user_id = u.id AND "+unindexed("m.organization_id")+" = "+org) +
		" UNION ALL " + sum + set.from +
		set.joinTable(false, column, "members", "m", firstByEmail(org)), set
}

func (r userRepo) MatchedBytes(ctx context.Context, org orgs.ID, keys []string) (n int, err error) {
	statement, set := matchedBytesSQL(r.dialect, keys)
	err = r.sets().query(r.statementContext(ctx), statement, set.values(), []any{org}, func(rows *sql.Rows) error {
		var some int
		err := rows.Scan(&some)
		n += some
		return err
	})
	return n, err
}

// scanMatch scans a row of matchesSQL.
func scanMatch(rows *sql.Rows, reader *memberReader) (match users.Match, err error) {
	var row memberRow
	to := append([]any{&match.Key, &match.User}, row.pointers()...)
	if err := rows.Scan(append(to, &match.Holds)...); err != nil || row.ID == 0 {
		return match, err
	}
	m, err := reader.member(row)
	match.Member = &m
	return match, err
}

// maxDeferredRows is how many rows of an enrolment are sent with the next statement or the commit.
// More take longer than a commit may.
const maxDeferredRows = 500

func (r userRepo) Enroll(ctx context.Context, w users.Writes) error {
	ctx = r.statementContext(ctx)
	for _, write := range []func(context.Context, users.Writes) error{r.addIdentities, r.addMembers} {
		if err := write(ctx, w); err != nil {
			return err
		}
	}
	if len(w.Members)+len(w.Fields)+len(w.Links)+len(w.Addresses) <= maxDeferredRows {
		ctx = deferred(ctx)
	}
	for _, write := range []func(context.Context, users.Writes) error{r.saveFields, r.addLinks, r.addEmails} {
		if err := write(ctx, w); err != nil {
			return err
		}
	}
	r.indexLater(w.Organization, mapped(slices.Concat(w.Members, w.Fields), func(m *users.Member) users.MemberID { return m.ID })...)
	r.indexLater(w.Organization, mapped(w.Addresses, func(a users.EnrolledAddress) users.MemberID { return a.Member.ID })...)
	return nil
}

// addIdentities inserts identities and sets their ids in the members.
func (r userRepo) addIdentities(ctx context.Context, w users.Writes) error {
	if len(w.Identities) == 0 {
		return nil
	}
	keys := mapped(w.Identities, usernameKey)
	set := columnsOf(r.dialect, setColumn{"username", mapped(w.Identities, func(m *users.Member) string { return m.User.Username })}, setColumn{"key", keys})
	statement := "INSERT INTO users (username, username_fold, created_at) SELECT s.username, s.key, " + set.arg(1) +
		" FROM " + set.from + " WHERE TRUE" + onConflictDoNothing + " RETURNING id, username_fold"
	added := make(map[string]users.ID, len(keys))
	err := r.sets().query(ctx, statement, set.values(), []any{r.now()}, func(rows *sql.Rows) error {
		var id users.ID
		var key string
		err := rows.Scan(&id, &key)
		added[key] = id
		return err
	})
	if err != nil {
		return err
	}
	if len(added) < len(keys) {
		return errConcurrentChange
	}
	for i, m := range w.Identities {
		m.User.ID = added[keys[i]]
	}
	return nil
}

// usernameKey returns the folded username of a member.
func usernameKey(m *users.Member) string { return names.Fold(m.User.Username) }

// addMembers inserts members and sets their ids.
func (r userRepo) addMembers(ctx context.Context, w users.Writes) error {
	if len(w.Members) == 0 {
		return nil
	}
	set, err := newMembers(r.dialect, w.Members)
	if err != nil {
		return err
	}
	statement := insertMembers(set, set.from, set.arg(1), set.arg(2), set.arg(3))
	if len(w.Identities) < len(w.Members) { // Other units do not see an identity that this unit has just added.
		statement += onConflictDoNothing
	}
	added := make(map[users.ID]users.MemberID, len(w.Members))
	err = r.sets().query(ctx, statement+" RETURNING id, user_id", set.values(), []any{w.Organization, users.RoleMember, r.now()}, func(rows *sql.Rows) error {
		var id users.MemberID
		var user users.ID
		err := rows.Scan(&id, &user)
		added[user] = id
		return err
	})
	if err != nil {
		return err
	}
	if len(added) < len(w.Members) {
		return errConcurrentChange
	}
	for _, m := range w.Members {
		m.ID = added[m.User.ID]
	}
	r.grown.add(growingMembers, len(added))
	return nil
}

// saveFieldsSQL is the statement of saveFields for a set; its parameter is the organization.
func saveFieldsSQL(set columnSet) string {
	return "UPDATE members SET custom_fields = s.fields FROM " + set.from + " WHERE members.id = s.id AND " +
		unindexed("members.organization_id") + " = " + set.arg(1)
}

// changedFieldsSet returns the custom fields of members as a set.
func changedFieldsSet(d dialect, ids []int64, texts []string) columnSet {
	return columnsOf(d, setColumn{"id", ids}, setColumn{"fields", texts})
}

// saveFields saves the custom fields of existing members.
func (r userRepo) saveFields(ctx context.Context, w users.Writes) error {
	if len(w.Fields) == 0 {
		return nil
	}
	texts := make([]string, len(w.Fields))
	for i, m := range w.Fields {
		text, err := m.CustomFields.Encode()
		if err != nil {
			return err
		}
		texts[i] = string(text)
	}
	set := changedFieldsSet(r.dialect, mapped(w.Fields, func(m *users.Member) int64 { return int64(m.ID) }), texts)
	return r.sets().exec(ctx, saveFieldsSQL(set), set.values(), []any{w.Organization})
}

// addLinks links members to groups.
func (r userRepo) addLinks(ctx context.Context, w users.Writes) error {
	set := columnsOf(r.dialect,
		setColumn{"member_id", mapped(w.Links, func(l users.GroupLink) int64 { return int64(l.Member.ID) })},
		setColumn{"group_id", mapped(w.Links, func(l users.GroupLink) int64 { return int64(l.Group) })})
	return r.addRows(ctx, w, len(w.Links), "INSERT INTO member_group_links (member_id, group_id) SELECT s.member_id, s.group_id FROM "+set.from+" WHERE TRUE", set)
}

// addEmails inserts the addresses that members enroll with.
func (r userRepo) addEmails(ctx context.Context, w users.Writes) error {
	rows := mapped(w.Addresses, func(a users.EnrolledAddress) addressRow {
		row := newAddressRow(users.NewEmailAddress(a.Email))
		row.MemberID = a.Member.ID
		return row
	})
	set := columnsOf(r.dialect,
		setColumn{"member_id", mapped(rows, func(r addressRow) int64 { return int64(r.MemberID) })},
		setColumn{"value", mapped(rows, func(r addressRow) string { return r.Value })},
		setColumn{"key", mapped(rows, func(r addressRow) string { return r.ValueKey })})
	return r.addRows(ctx, w, len(rows), "INSERT INTO addresses (organization_id, member_id, value, value_key, name, type) SELECT "+
		set.arg(1)+", s.member_id, s.value, s.key, "+set.arg(2)+", "+set.arg(3)+" FROM "+set.from+" WHERE TRUE", set, w.Organization, users.EmailName, users.Email)
}

// addRows runs a statement that inserts n rows for members.
func (r userRepo) addRows(ctx context.Context, w users.Writes, n int, statement string, set columnSet, args ...any) error {
	if n == 0 {
		return nil
	}
	if w.Shared {
		statement += onConflictDoNothing
	}
	return r.sets().exec(ctx, statement, set.values(), args)
}
