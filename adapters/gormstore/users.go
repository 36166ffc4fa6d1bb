package gormstore

import (
	"cmp"
	"context"
	"encoding/json"
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

// memberColumns are the columns of a membership m for a member, without the groups.
const memberColumns = "m.id, m.organization_id, m.user_id, m.username, m.email, m.first_name, m.last_name, m.role, m.custom_fields, m.locked"

// memberRow is a membership with the names of its groups, as a JSON array.
type memberRow struct {
	ID             users.MemberID
	OrganizationID orgs.ID
	UserID         users.ID
	Username       string
	Email          string
	FirstName      string
	LastName       string
	Role           users.Role
	CustomFields   string
	Locked         bool
	GroupNames     string
}

func (r memberRow) member() (users.Member, error) {
	m := users.Member{ID: r.ID, Organization: r.OrganizationID, User: users.User{ID: r.UserID, Username: r.Username},
		Details: users.Details{Email: r.Email, FirstName: r.FirstName, LastName: r.LastName}, Role: r.Role, Locked: r.Locked}
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
	found, created, err := inOrder(folds, rows, fold, errVanished)
	return mapped(found, userRow.user), created, err
}

// newMemberRow is a new membership of a user as one row of a rowSet.
type newMemberRow struct {
	UserID       users.ID `json:"user_id"`
	Username     string   `json:"username"`
	UsernameFold string   `json:"username_fold"`
	Email        string   `json:"email"`
	EmailFold    string   `json:"email_fold"`
	FirstName    string   `json:"first_name"`
	LastName     string   `json:"last_name"`
	CustomFields string   `json:"custom_fields"`
}

func toNewMemberRow(m users.Member) (newMemberRow, error) {
	fields, err := m.CustomFields.Encode()
	return newMemberRow{UserID: m.User.ID, Username: m.User.Username, UsernameFold: names.Fold(m.User.Username), Email: m.Email,
		EmailFold: names.Fold(m.Email), FirstName: m.FirstName, LastName: m.LastName, CustomFields: string(fields)}, err
}

func (r userRepo) EnsureMembers(ctx context.Context, org orgs.ID, ms []users.Member) ([]users.Member, []bool, error) {
	if len(ms) == 0 {
		return nil, nil, nil
	}
	rows, err := decoded(ms, toNewMemberRow)
	if err != nil {
		return nil, nil, err
	}
	slices.SortFunc(rows, func(a, b newMemberRow) int { return cmp.Compare(a.UserID, b.UserID) }) // see ensure
	wanted := rowSet(r.dialect, rows, "user_id bigint", "username text", "username_fold text", "email text", "email_fold text",
		"first_name text", "last_name text", "custom_fields text")
	there, err := ensure[memberRow](ctx, r.tx, len(ms),
		r.dialect.lookUp(wanted, strings.ReplaceAll(memberColumns, "m.", "r.")+", "+groupNames(r.dialect, "r")+" AS group_names",
			"members", "r.user_id = s.user_id AND "+unindexed("r.organization_id")+" = ?", org),
		stmt(`INSERT INTO members (organization_id, user_id, username, username_fold, email, email_fold, first_name, last_name, role, custom_fields, locked, created_at)
			SELECT ?, s.user_id, s.username, s.username_fold, s.email, s.email_fold, s.first_name, s.last_name, ?, s.custom_fields, FALSE, ? FROM (?) AS s WHERE TRUE
			ON CONFLICT DO NOTHING RETURNING `+strings.ReplaceAll(memberColumns, "m.", "")+`, '[]' AS group_names`,
			org, users.RoleMember, r.now(), wanted))
	if err != nil {
		return nil, nil, err
	}
	ids := mapped(ms, func(m users.Member) users.ID { return m.User.ID })
	found, created, err := inOrder(ids, there, func(row memberRow) users.ID { return row.UserID }, errVanished)
	if err != nil {
		return nil, nil, err
	}
	stored, err := decoded(found, memberRow.member)
	if err != nil {
		return nil, nil, err
	}
	fresh := map[users.MemberID]bool{}
	for i, m := range stored {
		if created[i] {
			fresh[m.ID] = true
		}
	}
	return stored, created, r.indexOf(ctx, org, fresh)
}

func (r userRepo) ByUsername(ctx context.Context, org orgs.ID, username string) (users.Member, error) {
	return decodeOne(r.members(ctx, "m.organization_id = ? AND m.username_fold = ?", org, names.Fold(username)), users.ErrNotFound, memberRow.member)
}

func (r userRepo) ByEmail(ctx context.Context, org orgs.ID, email string, limit int) ([]users.Member, error) {
	if email == "" { // This is how members without an e-mail address are stored.
		return nil, nil
	}
	return decodeAll(r.members(ctx, "m.organization_id = ? AND m.email_fold = ? AND m.email_fold <> m.username_fold ORDER BY m.id LIMIT ?",
		org, names.Fold(email), limit), memberRow.member)
}

func (r userRepo) ByID(ctx context.Context, org orgs.ID, id users.MemberID) (users.Member, error) {
	return decodeOne(r.members(ctx, unindexed("m.organization_id")+" = ? AND m.id = ?", org, id), users.ErrNotFound, memberRow.member)
}

func (r userRepo) Those(ctx context.Context, org orgs.ID, ids []users.MemberID) ([]users.Member, error) {
	return decodeAll(r.members(ctx, unindexed("m.organization_id")+" = ? AND m.id ? ORDER BY m.id", org, among(r.dialect, ids)), memberRow.member)
}

func (r userRepo) List(ctx context.Context, org orgs.ID, after users.MemberID, limit int) ([]users.Member, error) {
	return decodeAll(r.members(ctx, "m.organization_id = ? AND m.id > ? ORDER BY m.id LIMIT ?", org, after, limit), memberRow.member)
}

func (r userRepo) SaveDetails(ctx context.Context, m users.Member) error {
	err := change(r.db(ctx), users.ErrNotFound,
		"UPDATE members SET email = ?, email_fold = ?, first_name = ?, last_name = ? WHERE id = ? AND "+unindexed("organization_id")+" = ?",
		m.Email, names.Fold(m.Email), m.FirstName, m.LastName, m.ID, m.Organization)
	if err != nil {
		return err
	}
	return r.index(ctx, m.Organization, []users.MemberID{m.ID})
}

func (r userRepo) SaveFields(ctx context.Context, m users.Member) error {
	text, err := m.CustomFields.Encode()
	if err != nil {
		return err
	}
	err = change(r.db(ctx), users.ErrNotFound,
		"UPDATE members SET custom_fields = ? WHERE id = ? AND "+unindexed("organization_id")+" = ?", string(text), m.ID, m.Organization)
	if err != nil {
		return err
	}
	return r.index(ctx, m.Organization, []users.MemberID{m.ID})
}

func (r userRepo) SetRole(ctx context.Context, m users.Member) error {
	return change(r.db(ctx), users.ErrNotFound,
		"UPDATE members SET role = ? WHERE id = ? AND "+unindexed("organization_id")+" = ?", m.Role, m.ID, m.Organization)
}

// members queries memberships; condition may add an order and a limit.
func (r userRepo) members(ctx context.Context, condition string, args ...any) *gorm.DB {
	return r.db(ctx).Raw("SELECT "+memberColumns+", "+groupNames(r.dialect, "m")+" AS group_names FROM members m WHERE "+condition, args...)
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
