package gormstore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"gorm.io/gorm"

	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/names"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
)

const userColumns = "id, username, username_fold, email, first_name, last_name"

// userRow has JSON tags because new identities go to the database as a rowSet.
type userRow struct {
	ID           users.ID `json:"-"`
	Username     string   `json:"username"`
	UsernameFold string   `json:"username_fold"`
	Email        string   `json:"email"`
	EmailFold    string   `json:"email_fold"`
	FirstName    string   `json:"first_name"`
	LastName     string   `json:"last_name"`
}

func newUserRow(u users.User) userRow {
	return userRow{Username: u.Username, UsernameFold: names.Fold(u.Username), Email: u.Email, EmailFold: names.Fold(u.Email),
		FirstName: u.FirstName, LastName: u.LastName}
}

func (r userRow) user() users.User {
	return users.User{ID: r.ID, Username: r.Username, Email: r.Email, FirstName: r.FirstName, LastName: r.LastName}
}

// memberRow is a membership with its identity and the names of its groups, as a JSON array.
type memberRow struct {
	ID             users.MemberID
	OrganizationID orgs.ID
	Role           users.Role
	CustomFields   string
	Locked         bool
	GroupNames     string
	UserID         users.ID
	Username       string
	Email          string
	FirstName      string
	LastName       string
}

func (r memberRow) member() (users.Member, error) {
	m := users.Member{ID: r.ID, Organization: r.OrganizationID, Role: r.Role, Locked: r.Locked, User: users.User{
		ID: r.UserID, Username: r.Username, Email: r.Email, FirstName: r.FirstName, LastName: r.LastName}}
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

// memberFields are the custom fields of a member.
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
		stmt(`INSERT INTO users (username, username_fold, email, email_fold, first_name, last_name, created_at)
			SELECT s.username, s.username_fold, s.email, s.email_fold, s.first_name, s.last_name, ? FROM (?) AS s WHERE TRUE
			ON CONFLICT DO NOTHING RETURNING `+userColumns, r.now(),
			rowSet(r.dialect, wanted, "username text", "username_fold text", "email text", "email_fold text", "first_name text", "last_name text")))
	if err != nil {
		return nil, nil, err
	}
	found, created, err := inOrder(folds, rows, fold, errVanished)
	return mapped(found, userRow.user), created, err
}

// memberKeyRow is a user to be made a member as one row of a rowSet.
type memberKeyRow struct {
	UserID users.ID `json:"user_id"`
}

func (r userRepo) EnsureMembers(ctx context.Context, org orgs.ID, us []users.User) ([]users.Member, []bool, error) {
	if len(us) == 0 {
		return nil, nil, nil
	}
	ids := mapped(us, func(u users.User) users.ID { return u.ID })
	wanted := rowSet(r.dialect, mapped(slices.Sorted(slices.Values(ids)), func(id users.ID) memberKeyRow { return memberKeyRow{id} }), "user_id bigint")
	rows, err := ensure[memberRow](ctx, r.tx, len(us),
		r.dialect.lookUp(wanted, "r.id, r.organization_id, r.role, r.custom_fields, r.locked, "+r.groupNames("r")+" AS group_names, r.user_id",
			"members", "r.user_id = s.user_id AND r.organization_id = ?", org),
		stmt(`INSERT INTO members (organization_id, user_id, role, custom_fields, locked, created_at)
			SELECT ?, s.user_id, ?, '{}', FALSE, ? FROM (?) AS s WHERE TRUE ON CONFLICT DO NOTHING
			RETURNING id, organization_id, role, custom_fields, locked, '[]' AS group_names, user_id`,
			org, users.RoleMember, r.now(), wanted))
	if err != nil {
		return nil, nil, err
	}
	found, created, err := inOrder(ids, rows, func(row memberRow) users.ID { return row.UserID }, errVanished)
	if err != nil {
		return nil, nil, err
	}
	ms, err := decoded(found, memberRow.member)
	for i := range ms {
		ms[i].User = us[i]
	}
	return ms, created, err
}

func (r userRepo) Find(ctx context.Context, org orgs.ID, usernameOrEmail string) (users.Member, error) {
	fold := names.Fold(usernameOrEmail)
	m, err := decodeOne(r.members(ctx, "m.organization_id = ? AND u.username_fold = ?", org, fold), users.ErrNotFound, memberRow.member)
	if errors.Is(err, users.ErrNotFound) {
		// Whose username is the e-mail was not found by it: the rest is what the partial index holds.
		return decodeOne(r.members(ctx, `m.organization_id = ? AND u.email_fold = ? AND u.email_fold <> u.username_fold
			ORDER BY m.id LIMIT 1`, org, fold), users.ErrNotFound, memberRow.member)
	}
	return m, err
}

func (r userRepo) ByID(ctx context.Context, org orgs.ID, id users.MemberID) (users.Member, error) {
	return decodeOne(r.members(ctx, "m.organization_id = ? AND m.id = ?", org, id), users.ErrNotFound, memberRow.member)
}

func (r userRepo) Those(ctx context.Context, org orgs.ID, ids []users.MemberID) ([]users.Member, error) {
	return decodeAll(r.members(ctx, unindexed("m.organization_id")+" = ? AND m.id ? ORDER BY m.id", org, among(r.dialect, ids)), memberRow.member)
}

func (r userRepo) List(ctx context.Context, org orgs.ID, after users.MemberID, limit int) ([]users.Member, error) {
	return decodeAll(r.members(ctx, "m.organization_id = ? AND m.id > ? ORDER BY m.id LIMIT ?", org, after, limit), memberRow.member)
}

func (r userRepo) BelongsElsewhere(ctx context.Context, m users.Member) (bool, error) {
	var elsewhere bool
	err := r.db(ctx).Raw("SELECT EXISTS (SELECT 1 FROM members WHERE user_id = ? AND organization_id <> ?)",
		m.User.ID, m.Organization).Scan(&elsewhere).Error
	return elsewhere, err
}

func (r userRepo) Rename(ctx context.Context, u users.User) error {
	return change(r.db(ctx), users.ErrNotFound,
		"UPDATE users SET first_name = ?, last_name = ? WHERE id = ?", u.FirstName, u.LastName, u.ID)
}

func (r userRepo) SaveFields(ctx context.Context, m users.Member) error {
	text, err := m.CustomFields.Encode()
	if err != nil {
		return err
	}
	return change(r.db(ctx), users.ErrNotFound,
		"UPDATE members SET custom_fields = ? WHERE id = ? AND organization_id = ?", string(text), m.ID, m.Organization)
}

func (r userRepo) SetRole(ctx context.Context, m users.Member) error {
	return change(r.db(ctx), users.ErrNotFound,
		"UPDATE members SET role = ? WHERE id = ? AND organization_id = ?", m.Role, m.ID, m.Organization)
}

// members queries memberships; condition may order and limit them.
func (r userRepo) members(ctx context.Context, condition string, args ...any) *gorm.DB {
	return r.db(ctx).Raw(`SELECT m.id, m.organization_id, m.role, m.custom_fields, m.locked, `+r.groupNames("m")+` AS group_names,
			u.id AS user_id, u.username, u.email, u.first_name, u.last_name
		FROM members m JOIN users u ON u.id = m.user_id WHERE `+condition, args...)
}

// groupNames selects the names of the groups of a member as a JSON array, within the query that selects the member under this name.
func (r userRepo) groupNames(member string) string {
	array := "json_group_array(g.name)"
	if r.dialect == onPostgres {
		array = "COALESCE(json_agg(g.name)::text, '[]')"
	}
	return "(SELECT " + array + " FROM member_group_links l JOIN member_groups g ON g.id = l.group_id WHERE l.member_id = " + member + ".id)"
}
