package gormstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"

	"github.com/tocsin/tocsin/domain/names"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
)

// Reading and writing for enrolments belongs to userRepo too. An import enrolls thousands of people
// at a time: each statement handles all of them, and rows are scanned by hand.

// errVanished means that another unit added or removed a row that this unit's snapshot does not
// show. A retry sees it.
var errVanished = errors.New("a row that was there is gone")

// unlessThere makes a statement skip existing rows. If another unit added a row after the unit's
// snapshot, Postgres refuses the unit, which then runs again. Where no row can exist, omitting this
// is faster.
const unlessThere = " ON CONFLICT DO NOTHING"

// matches is the statement of Matches. Its set is the keys, its parameter the organization.
func matches(d dialect) string {
	set := columnsOf(d, "key text")
	org := set.arg(1)
	member := memberColumns + ", " + groupNames(d, "m") + " AS group_names"
	// LIMIT keeps Postgres from reading all addresses once instead of looking one up for each
	// member.
	holds := ", COALESCE((SELECT TRUE FROM addresses AS a WHERE a.organization_id = " + org +
		" AND a.member_id = m.id AND a.value_key = s.key LIMIT 1), FALSE)"
	columns := "m.id, m.user_id, m.username, m.email, m.first_name, m.last_name, m.role, m.custom_fields, m.locked, "
	if d == onPostgres {
		columns += "m.group_names"
	} else {
		columns += groupNames(d, "m")
	}
	return "SELECT s.key, u.id, " + columns + holds + " FROM " + set.from +
		set.with(false, "u.id", "users", "u", "u.username_fold = s.key") +
		set.with(true, member, "members", "m", "m.user_id = u.id AND "+unindexed("m.organization_id")+" = "+org) +
		" UNION ALL SELECT s.key, 0, " + columns + holds + " FROM " + set.from +
		set.with(false, member, "members", "m", "m.organization_id = "+org+" AND m.email_fold = s.key AND m.email_fold <> m.username_fold")
}

func (r userRepo) Matches(ctx context.Context, org orgs.ID, keys []string) (found []users.Match, err error) {
	if len(keys) == 0 {
		return nil, nil
	}
	err = r.sets().query(r.lasting(ctx), matches(r.dialect), []any{keys}, []any{org}, func(rows *sql.Rows) error {
		m, err := scanMatch(rows, org)
		found = append(found, m)
		return err
	})
	return found, err
}

// scanMatch reads a row of matches.
func scanMatch(rows *sql.Rows, org orgs.ID) (users.Match, error) {
	var match users.Match
	var id sql.Null[users.MemberID]
	var user sql.Null[users.ID]
	var username, email, first, last, role, fields, groups sql.NullString
	var locked sql.NullBool
	err := rows.Scan(&match.Key, &match.User, &id, &user, &username, &email, &first, &last, &role, &fields, &locked, &groups, &match.Holds)
	if err != nil || !id.Valid {
		return match, err
	}
	match.Member = &users.Member{ID: id.V, Organization: org, User: users.User{ID: user.V, Username: username.String},
		Details: users.Details{Email: email.String, FirstName: first.String, LastName: last.String},
		Role:    users.Role(role.String), Locked: locked.Bool}
	if match.Member.CustomFields, err = memberFields(id.V, fields.String); err != nil {
		return match, err
	}
	if err := json.Unmarshal([]byte(groups.String), &match.Member.Groups); err != nil {
		return match, unreadable(err, "groups of member %d", id.V)
	}
	slices.Sort(match.Member.Groups)
	return match, nil
}

func (r userRepo) Enroll(ctx context.Context, w users.Writes) error {
	ctx = r.lasting(ctx)
	for _, write := range []func(context.Context, users.Writes) error{r.addIdentities, r.addMembers, r.saveFields, r.addLinks, r.addEmails, r.addEnrolled} {
		if err := write(ctx, w); err != nil {
			return err
		}
	}
	return nil
}

// addIdentities adds identities and sets their ids in the members.
func (r userRepo) addIdentities(ctx context.Context, w users.Writes) error {
	if len(w.Identities) == 0 {
		return nil
	}
	set := columnsOf(r.dialect, "username text", "key text")
	statement := "INSERT INTO users (username, username_fold, created_at) SELECT s.username, s.key, " + set.arg(1) +
		" FROM " + set.from + " WHERE TRUE" + unlessThere + " RETURNING id, username_fold"
	keys := mapped(w.Identities, keyOf)
	added := make(map[string]users.ID, len(keys))
	columns := []any{mapped(w.Identities, func(m *users.Member) string { return m.User.Username }), keys}
	err := r.sets().query(ctx, statement, columns, []any{r.now()}, func(rows *sql.Rows) error {
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
		return errVanished
	}
	for i, m := range w.Identities {
		m.User.ID = added[keys[i]]
	}
	return nil
}

// keyOf returns the key of a member's username.
func keyOf(m *users.Member) string { return names.Fold(m.User.Username) }

// addMembers adds memberships and sets their ids.
func (r userRepo) addMembers(ctx context.Context, w users.Writes) error {
	if len(w.Members) == 0 {
		return nil
	}
	fields := make([]string, len(w.Members))
	for i, m := range w.Members {
		text, err := m.CustomFields.Encode()
		if err != nil {
			return err
		}
		fields[i] = string(text)
	}
	columns := []any{
		mapped(w.Members, func(m *users.Member) int64 { return int64(m.User.ID) }),
		mapped(w.Members, func(m *users.Member) string { return m.User.Username }),
		mapped(w.Members, keyOf),
		mapped(w.Members, func(m *users.Member) string { return m.Email }),
		mapped(w.Members, func(m *users.Member) string { return names.Fold(m.Email) }),
		mapped(w.Members, func(m *users.Member) string { return m.FirstName }),
		mapped(w.Members, func(m *users.Member) string { return m.LastName }),
		fields,
	}
	set := columnsOf(r.dialect, "user_id bigint", "username text", "key text", "email text", "email_key text", "first text", "last text", "fields text")
	statement := `INSERT INTO members (organization_id, user_id, username, username_fold, email, email_fold, first_name, last_name, role, custom_fields, locked, created_at)
		SELECT ` + set.arg(1) + `, s.user_id, s.username, s.key, s.email, s.email_key, s.first, s.last, ` + set.arg(2) + `, s.fields, FALSE, ` + set.arg(3) +
		` FROM ` + set.from + ` WHERE TRUE`
	if len(w.Identities) < len(w.Members) { // Other units do not see an identity that this unit has just added.
		statement += unlessThere
	}
	added := make(map[users.ID]users.MemberID, len(w.Members))
	err := r.sets().query(ctx, statement+" RETURNING id, user_id", columns, []any{w.Organization, users.RoleMember, r.now()}, func(rows *sql.Rows) error {
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
		return errVanished
	}
	for _, m := range w.Members {
		m.ID = added[m.User.ID]
	}
	return nil
}

// saveFields is the statement of saveFields. Its set is the members and their fields, its parameter
// the organization.
func saveFields(d dialect) string {
	set := columnsOf(d, "id bigint", "fields text")
	return "UPDATE members SET custom_fields = s.fields FROM " + set.from + " WHERE members.id = s.id AND " +
		unindexed("members.organization_id") + " = " + set.arg(1)
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
	return r.sets().exec(ctx, saveFields(r.dialect), []any{mapped(w.Fields, func(m *users.Member) int64 { return int64(m.ID) }), texts}, []any{w.Organization})
}

// addLinks links members to groups.
func (r userRepo) addLinks(ctx context.Context, w users.Writes) error {
	set := columnsOf(r.dialect, "member_id bigint", "group_id bigint")
	columns := []any{
		mapped(w.Links, func(l users.GroupLink) int64 { return int64(l.Member.ID) }),
		mapped(w.Links, func(l users.GroupLink) int64 { return int64(l.Group) }),
	}
	return r.addTo(ctx, w, len(w.Links), "INSERT INTO member_group_links (member_id, group_id) SELECT s.member_id, s.group_id FROM "+set.from+" WHERE TRUE", columns)
}

// addEmails adds the addresses that members enroll with.
func (r userRepo) addEmails(ctx context.Context, w users.Writes) error {
	rows := mapped(w.Addresses, func(a users.EnrolledAddress) addressRow {
		row := newAddressRow(users.NewEmailAddress(a.Email))
		row.MemberID = a.Member.ID
		return row
	})
	set := columnsOf(r.dialect, "member_id bigint", "value text", "key text")
	columns := []any{
		mapped(rows, func(r addressRow) int64 { return int64(r.MemberID) }),
		mapped(rows, func(r addressRow) string { return r.Value }),
		mapped(rows, func(r addressRow) string { return r.ValueKey }),
	}
	return r.addTo(ctx, w, len(rows), "INSERT INTO addresses (organization_id, member_id, value, value_key, name, type) SELECT "+
		set.arg(1)+", s.member_id, s.value, s.key, "+set.arg(2)+", "+set.arg(3)+" FROM "+set.from+" WHERE TRUE", columns, w.Organization, users.EmailName, users.Email)
}

// addTo runs a statement that adds n rows for members.
func (r userRepo) addTo(ctx context.Context, w users.Writes, n int, statement string, columns []any, args ...any) error {
	if n == 0 {
		return nil
	}
	if w.Shared {
		statement += unlessThere
	}
	return r.sets().exec(ctx, statement, columns, args)
}
