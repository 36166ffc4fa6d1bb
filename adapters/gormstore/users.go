package gormstore

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"math"
	"slices"
	"strings"

	"gorm.io/gorm"

	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/names"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
)

const userColumns = "id, username, username_fold"

// userRow has JSON tags because new identities go to the database as a rowSet.
type userRow struct {
	ID           users.ID `json:"-"`
	Username     string   `json:"username"`
	UsernameFold string   `json:"username_fold"`
}

func newUserRow(u users.User) userRow {
	return userRow{Username: u.Username, UsernameFold: names.Fold(u.Username)}
}

func (r userRow) user() users.User { return users.User{ID: r.ID, Username: r.Username} }

// memberRow is a membership with the names of its groups, as a JSON array.
type memberRow struct {
	ID             users.MemberID
	OrganizationID orgs.ID
	UserID         users.ID
	Username       string
	users.Details
	Role         users.Role
	CustomFields string
	Locked       bool
	GroupNames   string
}

// columns returns the columns of a memberRow with their pointers, except the groups.
func (r *memberRow) columns() []column {
	all := []column{{"id", nullableTo(&r.ID)}, {"organization_id", nullableTo(&r.OrganizationID)}, {"user_id", nullableTo(&r.UserID)}, {"username", nullableTo(&r.Username)},
		{"role", nullableTo(&r.Role)}, {"custom_fields", nullableTo(&r.CustomFields)}, {"locked", nullableTo(&r.Locked)}}
	return append(all, columnsOfDetails(&r.Details)...)
}

// pointers returns the pointers to the columns that memberColumns selects.
func (r *memberRow) pointers() []any {
	return append(mapped(r.columns(), func(c column) any { return c.to }), nullableTo(&r.GroupNames))
}

// columnsOfDetails returns the columns of the details of a member.
func columnsOfDetails(d *users.Details) []column {
	return mapped(d.List(), func(d users.Detail) column { return column{d.Name, nullableTo(d.Value)} })
}

// detailColumns selects the details of a member.
func detailColumns(member string) string { return qualifiedColumns(member, users.DetailNames()) }

// memberNames are the names of the columns of a membership.
var memberNames = mapped(new(memberRow).columns(), func(c column) string { return c.name })

// memberColumns selects a memberRow from members with this alias.
func memberColumns(d dialect, member string) string {
	return qualifiedColumns(member, memberNames) + ", " + groupNames(d, member) + " AS group_names"
}

func (r memberRow) member() (users.Member, error) {
	m := users.Member{ID: r.ID, Organization: r.OrganizationID, User: users.User{ID: r.UserID, Username: r.Username},
		Details: r.Details, Role: r.Role, Locked: r.Locked}
	var err error
	if m.CustomFields, err = memberFields(r.ID, r.CustomFields); err != nil {
		return users.Member{}, err
	}
	if err := json.Unmarshal([]byte(r.GroupNames), &m.Groups); err != nil {
		return users.Member{}, unreadable(err, "groups of member %d", r.ID)
	}
	slices.Sort(m.Groups)
	return m, nil
}

// memberReader decodes members until they take too much memory.
type memberReader struct{ bytes, maxBytes int }

// newMemberReader returns a reader of the members that n keys or ids find. What a single one finds
// may take more than maxBytes; 0: there is no limit.
func newMemberReader(maxBytes, n int) *memberReader {
	if maxBytes == 0 || n == 1 {
		maxBytes = math.MaxInt
	}
	return &memberReader{maxBytes: maxBytes}
}

// member decodes the next member; users.ErrTooLarge.
func (r *memberReader) member(row memberRow) (users.Member, error) {
	m, err := row.member()
	if r.bytes += users.Memory(len(row.CustomFields)+len(row.GroupNames), m.CustomFields); err == nil && r.bytes > r.maxBytes {
		err = users.ErrTooLarge
	}
	return m, err
}

// memberFields parses the custom fields of a member.
func memberFields(m users.MemberID, text string) (metadata.Map, error) {
	fields, err := metadata.Decode([]byte(text))
	if err != nil {
		return nil, unreadable(err, "custom fields of member %d", m)
	}
	return fields, nil
}

type userRepo struct{ tx }

func (r userRepo) Ensure(ctx context.Context, us []users.User) ([]users.User, []bool, error) {
	if len(us) == 0 {
		return nil, nil, nil
	}
	wanted := mapped(us, newUserRow)
	fold := func(row userRow) string { return row.UsernameFold }
	folds := mapped(wanted, fold)
	slices.SortFunc(wanted, func(a, b userRow) int { return cmp.Compare(a.UsernameFold, b.UsernameFold) }) // see ensure
	rows, err := ensure[userRow](ctx, r.tx, len(us),
		stmt("SELECT "+userColumns+" FROM users WHERE username_fold ?", among(r.dialect, folds)),
		stmt(`INSERT INTO users (username, username_fold, created_at)
			SELECT s.username, s.username_fold, ? FROM (?) AS s WHERE TRUE
			ON CONFLICT DO NOTHING RETURNING `+userColumns, r.now(), rowSet(r.dialect, wanted, "username text", "username_fold text")))
	if err != nil {
		return nil, nil, err
	}
	found, created, err := inOrder(folds, rows, fold, errConcurrentChange)
	return mapped(found, userRow.user), created, err
}

// newMembers returns new members as a set.
func newMembers(d dialect, ms []*users.Member) (columnSet, error) {
	ids, fields, details := make([]int64, len(ms)), make([]string, len(ms)), make([][]string, len(users.DetailNames()))
	for i, m := range ms {
		text, err := m.CustomFields.Encode()
		if err != nil {
			return columnSet{}, err
		}
		ids[i], fields[i] = int64(m.User.ID), string(text)
		for j, d := range m.List() {
			details[j] = append(details[j], *d.Value)
		}
	}
	columns := []setColumn{{"user_id", ids}, {"custom_fields", fields},
		{"username", mapped(ms, func(m *users.Member) string { return m.User.Username })}, {"username_fold", mapped(ms, usernameKey)},
		{"email_fold", mapped(ms, func(m *users.Member) string { return names.Fold(m.Email) })}}
	for j, name := range users.DetailNames() {
		columns = append(columns, setColumn{name, details[j]})
	}
	return columnsOf(d, columns...), nil
}

// insertMembers inserts the rows s of newMembers.
func insertMembers(set columnSet, from, org, role, now string) string {
	return "INSERT INTO members (organization_id, role, locked, created_at, " + strings.Join(set.names(), ", ") + ") SELECT " + org + ", " + role + ", FALSE, " +
		now + ", " + qualifiedColumns("s", set.names()) + " FROM " + from + " WHERE TRUE"
}

func (r userRepo) EnsureMembers(ctx context.Context, org orgs.ID, ms []users.Member) ([]users.Member, []bool, error) {
	if len(ms) == 0 {
		return nil, nil, nil
	}
	sorted := make([]*users.Member, len(ms))
	for i := range ms {
		sorted[i] = &ms[i]
	}
	slices.SortFunc(sorted, func(a, b *users.Member) int { return cmp.Compare(a.User.ID, b.User.ID) }) // see ensure
	set, err := newMembers(r.dialect, sorted)
	if err != nil {
		return nil, nil, err
	}
	wanted := set.expression()
	there, err := ensure[memberRow](ctx, r.tx, len(ms),
		r.dialect.lookUp(wanted, memberColumns(r.dialect, "r"), "members", "r.user_id = s.user_id AND "+unindexed("r.organization_id")+" = ?", org),
		stmt(insertMembers(set, "(?) AS s", "?", "?", "?")+" ON CONFLICT DO NOTHING RETURNING "+strings.Join(memberNames, ", ")+", '[]' AS group_names",
			org, users.RoleMember, r.now(), wanted))
	if err != nil {
		return nil, nil, err
	}
	ids := mapped(ms, func(m users.Member) users.ID { return m.User.ID })
	found, created, err := inOrder(ids, there, func(row memberRow) users.ID { return row.UserID }, errConcurrentChange)
	if err != nil {
		return nil, nil, err
	}
	stored, err := decoded(found, memberRow.member)
	if err != nil {
		return nil, nil, err
	}
	for i, m := range stored {
		if created[i] {
			r.indexLater(org, m.ID)
		}
	}
	return stored, created, nil
}

func (r userRepo) ByUsername(ctx context.Context, org orgs.ID, username string) (users.Member, error) {
	return decodeOne(r.members(ctx, "m.organization_id = ? AND m.username_fold = ?", org, names.Fold(username)), users.ErrNotFound, memberRow.member)
}

func (r userRepo) ByEmail(ctx context.Context, org orgs.ID, email string, limit int) ([]users.Member, error) {
	if email == "" { // Members without an e-mail address have an empty one.
		return nil, nil
	}
	return decodeAll(r.members(ctx, "m.organization_id = ? AND m.email_fold = ? AND m.email_fold <> m.username_fold ORDER BY m.id LIMIT ?",
		org, names.Fold(email), limit), memberRow.member)
}

func (r userRepo) ByID(ctx context.Context, org orgs.ID, id users.MemberID) (users.Member, error) {
	return decodeOne(r.members(ctx, unindexed("m.organization_id")+" = ? AND m.id = ?", org, id), users.ErrNotFound, memberRow.member)
}

func (r userRepo) ByIDs(ctx context.Context, org orgs.ID, ids []users.MemberID, maxBytes int) ([]users.Member, error) {
	reader := newMemberReader(maxBytes, len(ids))
	return scanned(r.members(ctx, unindexed("m.organization_id")+" = ? AND m.id ? ORDER BY m.id", org, among(r.dialect, ids)), 0, func(rows *sql.Rows) (users.Member, error) {
		var row memberRow
		if err := rows.Scan(row.pointers()...); err != nil {
			return users.Member{}, err
		}
		return reader.member(row)
	})
}

func (r userRepo) List(ctx context.Context, org orgs.ID, after users.MemberID, limit int) ([]users.Member, error) {
	return decodeAll(r.members(ctx, "m.organization_id = ? AND m.id > ? ORDER BY m.id LIMIT ?", org, after, limit), memberRow.member)
}

func (r userRepo) Fitting(ctx context.Context, org orgs.ID, after users.MemberID, limit int) (n int, more bool, err error) {
	sizes, err := rowsOf[int](r.db(ctx).Raw("SELECT octet_length(custom_fields) FROM members WHERE organization_id = ? AND id > ? ORDER BY id LIMIT ?", org, after, limit))
	for size := 0; n < len(sizes) && size < maxFieldBytes; n++ {
		size += sizes[n]
	}
	return n, n < len(sizes) || n == limit, err
}

func (r userRepo) SaveDetails(ctx context.Context, m users.Member) error {
	values := map[string]any{"email_fold": names.Fold(m.Email)}
	for _, d := range m.List() {
		values[d.Name] = *d.Value
	}
	r.indexLater(m.Organization, m.ID)
	return r.update(ctx, m, values)
}

func (r userRepo) SaveFields(ctx context.Context, m users.Member) error {
	text, err := m.CustomFields.Encode()
	if err != nil {
		return err
	}
	r.indexLater(m.Organization, m.ID)
	return r.update(ctx, m, map[string]any{"custom_fields": string(text)})
}

func (r userRepo) SetRole(ctx context.Context, m users.Member) error {
	return r.update(ctx, m, map[string]any{"role": m.Role})
}

// update stores columns of a member.
func (r userRepo) update(ctx context.Context, m users.Member, columns map[string]any) error {
	return changed(r.db(ctx).Table("members").Where("id = ? AND "+unindexed("organization_id")+" = ?", m.ID, m.Organization).Updates(columns), users.ErrNotFound)
}

// members queries memberships; condition may add an order and a limit.
func (r userRepo) members(ctx context.Context, condition string, args ...any) *gorm.DB {
	return r.db(ctx).Raw("SELECT "+memberColumns(r.dialect, "m")+" FROM members m WHERE "+condition, args...)
}

// groupNames selects the names of a member's groups as a JSON array, in a query where the member
// has this alias.
func groupNames(d dialect, member string) string {
	array := "json_group_array(g.name)"
	if d == onPostgres {
		array = "COALESCE(json_agg(g.name)::text, '[]')"
	}
	return "(SELECT " + array + " FROM member_group_links l JOIN member_groups g ON g.id = l.group_id WHERE l.member_id = " + member + ".id)"
}
