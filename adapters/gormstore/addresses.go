package gormstore

import (
	"cmp"
	"context"
	"slices"

	"gorm.io/gorm/clause"

	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
)

const addressColumns = "id, member_id, value, value_key, name, type"

// addressRow has JSON tags because new addresses go to the database as a rowSet.
type addressRow struct {
	ID       users.AddressID   `json:"-"`
	MemberID users.MemberID    `json:"member_id"`
	Value    string            `json:"value"`
	ValueKey string            `json:"value_key"`
	Name     string            `json:"name"`
	Type     users.AddressType `json:"type"`
}

func (addressRow) TableName() string { return "addresses" }

func newAddressRow(a users.Address) addressRow {
	return addressRow{MemberID: a.Member, Value: a.Value, ValueKey: a.Key(), Name: a.Name, Type: a.Type}
}

// addressKey identifies an address within an organization.
type addressKey struct {
	member users.MemberID
	value  string
}

func (r addressRow) key() addressKey { return addressKey{r.MemberID, r.ValueKey} }

func (r addressRow) address() users.Address {
	return users.Address{ID: r.ID, Member: r.MemberID, Value: r.Value, Name: r.Name, Type: r.Type}
}

type addressRepo struct{ tx }

func (r addressRepo) Ensure(ctx context.Context, org orgs.ID, as []users.Address) ([]users.Address, []bool, error) {
	if len(as) == 0 {
		return nil, nil, nil
	}
	wanted := mapped(as, newAddressRow)
	keys := mapped(wanted, addressRow.key)
	slices.SortFunc(wanted, func(a, b addressRow) int { // see ensure
		return cmp.Or(cmp.Compare(a.MemberID, b.MemberID), cmp.Compare(a.ValueKey, b.ValueKey))
	})
	set := r.addressSet(wanted)
	rows, err := ensure[addressRow](ctx, r.tx, len(as), r.knownAddresses(set, org),
		stmt(`INSERT INTO addresses (organization_id, member_id, value, value_key, name, type)
			SELECT o.id, s.member_id, s.value, s.value_key, s.name, s.type FROM (?) AS s CROSS JOIN organizations o
			WHERE o.id = ? AND o.id = (SELECT m.organization_id FROM members m WHERE m.id = s.member_id)
			ON CONFLICT DO NOTHING RETURNING `+addressColumns, set, org))
	if err != nil {
		return nil, nil, err
	}
	found, created, err := inOrder(keys, rows, addressRow.key, users.ErrNotFound) // a row is missing only if its user is not a member
	if err != nil {
		return nil, nil, err
	}
	for i, a := range found {
		if created[i] {
			r.indexLater(org, a.MemberID)
		}
	}
	return mapped(found, addressRow.address), created, nil
}

// addressSet returns addresses as a set.
func (r addressRepo) addressSet(as []addressRow) clause.Expr {
	return rowSet(r.dialect, as, "member_id bigint", "value text", "value_key text", "name text", "type text")
}

// knownAddresses selects those addresses of a set that are recorded.
func (r addressRepo) knownAddresses(set clause.Expr, org orgs.ID) statement {
	return r.dialect.lookUp(set, addressColumns, "addresses", "r.organization_id = ? AND r.member_id = s.member_id AND r.value_key = s.value_key", org)
}

func (r addressRepo) Known(ctx context.Context, org orgs.ID, as []users.Address) ([]users.Address, error) {
	q := r.knownAddresses(r.addressSet(mapped(as, newAddressRow)), org)
	return all(r.db(ctx).Raw(q.sql+" ORDER BY id", q.args...), addressRow.address)
}

func (r addressRepo) List(
	ctx context.Context, org orgs.ID, m users.MemberID, after users.AddressID, limit int,
) ([]users.Address, error) {
	return page(r.db(ctx).Where("organization_id = ? AND member_id = ?", org, m), after, limit, addressRow.address)
}

func (r addressRepo) ByID(ctx context.Context, org orgs.ID, m users.MemberID, id users.AddressID) (users.Address, error) {
	row, err := one[addressRow](r.db(ctx).Where("id = ? AND member_id = ? AND organization_id = ?", id, m, org), users.ErrAddressNotFound)
	return row.address(), err
}

func (r addressRepo) OfMembers(ctx context.Context, org orgs.ID, ms []users.MemberID, t users.AddressType, limit int) ([]users.Address, error) {
	condition, args := "organization_id = ? AND member_id ?", []any{org, among(r.dialect, ms)}
	if t != "" {
		condition, args = condition+" AND type = ?", append(args, t)
	}
	return all(r.db(ctx).Raw("SELECT "+addressColumns+" FROM addresses WHERE "+condition+" ORDER BY id LIMIT ?", append(args, limit)...), addressRow.address)
}

func (r addressRepo) Assigned(ctx context.Context, org orgs.ID, as []users.AddressID) ([]users.AddressID, error) {
	return rowsOf[users.AddressID](r.db(ctx).Raw("SELECT a.id FROM addresses a WHERE a.id ? AND "+unindexed("a.organization_id")+" = ? AND "+assigned+" ORDER BY a.id",
		among(r.dialect, as), org))
}

// assigned is the condition that an address a is assigned to a channel.
const assigned = "EXISTS (SELECT 1 FROM assignments s WHERE s.address_id = a.id)"

func (r addressRepo) RemoveUnassigned(ctx context.Context, org orgs.ID, as []users.Address) error {
	if len(as) == 0 {
		return nil
	}
	r.indexLater(org, mapped(as, func(a users.Address) users.MemberID { return a.Member })...)
	ids := among(r.dialect, mapped(as, func(a users.Address) users.AddressID { return a.ID }))
	return changeAll(r.db(ctx), len(as), users.ErrAddressNotFound,
		"DELETE FROM addresses AS a WHERE a.id ? AND "+unindexed("a.organization_id")+" = ? AND NOT "+assigned, ids, org)
}

// Remove leaves the assignments and their dependents to the foreign keys; deliveries have no
// references.
func (r addressRepo) Remove(ctx context.Context, org orgs.ID, m users.MemberID, id users.AddressID) error {
	err := r.skipRemoved(ctx, `member_id = @member AND assignment_id IN (SELECT s.id FROM assignments s JOIN addresses a ON a.id = s.address_id
		WHERE a.id = @address AND a.member_id = @member AND a.organization_id = @organization )`,
		map[string]any{"member": m, "address": id, "organization": org})
	if err != nil {
		return err
	}
	r.indexLater(org, m)
	return changed(r.db(ctx).Where("organization_id = ? AND member_id = ? AND id = ?", org, m, id).Delete(&addressRow{}), users.ErrAddressNotFound)
}

func (r addressRepo) Holders(ctx context.Context, org orgs.ID, keys []string, limit int) ([]users.Address, error) {
	q := r.dialect.lookUp(textSet(r.dialect, keys), addressColumns, "addresses", "r.organization_id = ? AND r.value_key = s.value AND r.type = ?",
		org, users.Email)
	return all(r.db(ctx).Raw(q.sql+" ORDER BY id LIMIT ?", append(q.args, limit)...), addressRow.address)
}
