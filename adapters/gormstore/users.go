package gormstore

import (
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

const userColumns = "id, username, email, first_name, last_name"

type userRow struct {
	ID        users.ID
	Username  string
	Email     string
	FirstName string
	LastName  string
}

func (r userRow) user() users.User { return users.User(r) }

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
	if m.CustomFields, err = metadata.Decode([]byte(r.CustomFields)); err != nil {
		return users.Member{}, unreadable(err, "custom fields of member %d", r.ID)
	}
	if err := json.Unmarshal([]byte(r.GroupNames), &m.Groups); err != nil {
		return users.Member{}, unreadable(err, "groups of member %d", r.ID)
	}
	slices.Sort(m.Groups)
	return m, nil
}

type userRepo struct{ tx }

func (r userRepo) Ensure(ctx context.Context, u users.User) (users.User, bool, error) {
	fold := names.Fold(u.Username)
	row, created, err := ensureOne[userRow](ctx, r.tx,
		stmt("SELECT "+userColumns+" FROM users WHERE username_fold = ?", fold),
		stmt(`INSERT INTO users (username, username_fold, email, email_fold, first_name, last_name, created_at)
			VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING `+userColumns,
			u.Username, fold, u.Email, names.Fold(u.Email), u.FirstName, u.LastName, r.now()))
	return row.user(), created, err
}

func (r userRepo) EnsureMember(ctx context.Context, org orgs.ID, u users.User) (users.Member, bool, error) {
	row, created, err := ensureOne[memberRow](ctx, r.tx,
		stmt("SELECT m.id, m.organization_id, m.role, m.custom_fields, m.locked, "+r.groupNames()+" AS group_names, m.user_id"+
			" FROM members m WHERE m.user_id = ? AND m.organization_id = ?", u.ID, org),
		stmt(`INSERT INTO members (organization_id, user_id, role, custom_fields, locked, created_at)
			VALUES (?, ?, ?, '{}', FALSE, ?) ON CONFLICT DO NOTHING
			RETURNING id, organization_id, role, custom_fields, locked, '[]' AS group_names, user_id`,
			org, u.ID, users.RoleMember, r.now()))
	if err != nil {
		return users.Member{}, false, err
	}
	m, err := row.member()
	m.User = u
	return m, created, err
}

func (r userRepo) Find(ctx context.Context, org orgs.ID, usernameOrEmail string) (users.Member, error) {
	fold := names.Fold(usernameOrEmail)
	row, err := one[memberRow](r.members(ctx, "m.organization_id = ? AND u.username_fold = ?", org, fold), users.ErrNotFound)
	if errors.Is(err, users.ErrNotFound) {
		// Whose username is the e-mail was not found by it: the rest is what the partial index holds.
		row, err = one[memberRow](r.members(ctx, `m.organization_id = ? AND u.email_fold = ? AND u.email_fold <> u.username_fold
			ORDER BY m.id LIMIT 1`, org, fold), users.ErrNotFound)
	}
	if err != nil {
		return users.Member{}, err
	}
	return row.member()
}

func (r userRepo) List(ctx context.Context, org orgs.ID, after users.MemberID, limit int) ([]users.Member, error) {
	rows, err := rowsOf[memberRow](r.members(ctx, "m.organization_id = ? AND m.id > ? ORDER BY m.id LIMIT ?", org, after, limit))
	if err != nil {
		return nil, err
	}
	ms := make([]users.Member, len(rows))
	for i, row := range rows {
		if ms[i], err = row.member(); err != nil {
			return nil, err
		}
	}
	return ms, nil
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

func (r userRepo) SetLocked(ctx context.Context, m users.Member) error {
	return change(r.db(ctx), users.ErrNotFound,
		"UPDATE members SET locked = ? WHERE id = ? AND organization_id = ?", m.Locked, m.ID, m.Organization)
}

// Remove leaves what hangs on the membership to the foreign keys. It changes the identity's row first, so that of two
// organizations that let go of it at the same time Postgres refuses the later one, which then runs again and
// sees that its membership is the last; neither would otherwise see the other's end, and the identity would stay for ever.
func (r userRepo) Remove(ctx context.Context, m users.Member) error {
	var identity []users.ID
	err := r.db(ctx).Raw(`UPDATE users SET username = username
		WHERE id IN (SELECT user_id FROM members WHERE id = ? AND organization_id = ?) RETURNING id`,
		m.ID, m.Organization).Scan(&identity).Error
	if err != nil {
		return err
	}
	err = r.skipRemoved(ctx, "member_id IN (SELECT id FROM members WHERE id = @member AND organization_id = @organization )",
		map[string]any{"member": m.ID, "organization": m.Organization})
	if err != nil {
		return err
	}
	err = change(r.db(ctx), users.ErrNotFound, "DELETE FROM members WHERE id = ? AND organization_id = ?", m.ID, m.Organization)
	if err != nil {
		return err
	}
	return r.db(ctx).Exec(`DELETE FROM users WHERE id IN ?
		AND NOT EXISTS (SELECT 1 FROM members WHERE members.user_id = users.id)`, identity).Error
}

// members queries memberships; condition may order and limit them.
func (r userRepo) members(ctx context.Context, condition string, args ...any) *gorm.DB {
	return r.db(ctx).Raw(`SELECT m.id, m.organization_id, m.role, m.custom_fields, m.locked, `+r.groupNames()+` AS group_names,
			u.id AS user_id, u.username, u.email, u.first_name, u.last_name
		FROM members m JOIN users u ON u.id = m.user_id WHERE `+condition, args...)
}

// groupNames selects the names of the groups of the member m as a JSON array, within the query that selects m.
func (r userRepo) groupNames() string {
	array := "json_group_array(g.name)"
	if r.dialect == onPostgres {
		array = "COALESCE(json_agg(g.name)::text, '[]')"
	}
	return "(SELECT " + array + " FROM member_group_links l JOIN member_groups g ON g.id = l.group_id WHERE l.member_id = m.id)"
}
