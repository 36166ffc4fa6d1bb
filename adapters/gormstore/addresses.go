package gormstore

import (
	"context"

	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
)

const addressColumns = "id, member_id, value, value_key, name, type"

// addressRow has JSON tags because new addresses go to the database as a rowSet.
type addressRow struct {
	ID       users.AddressID   `json:"-"`
	MemberID users.MemberID    `json:"-"`
	Value    string            `json:"value"`
	ValueKey string            `json:"value_key"`
	Name     string            `json:"name"`
	Type     users.AddressType `json:"type"`
}

func (addressRow) TableName() string { return "addresses" }

func newAddressRow(a users.Address) addressRow {
	return addressRow{Value: a.Value, ValueKey: a.Key(), Name: a.Name, Type: a.Type}
}

func (r addressRow) address() users.Address {
	return users.Address{ID: r.ID, Member: r.MemberID, Value: r.Value, Name: r.Name, Type: r.Type}
}

type addressRepo struct{ tx }

func (r addressRepo) Ensure(
	ctx context.Context, org orgs.ID, m users.MemberID, as []users.Address,
) ([]users.Address, []bool, error) {
	if len(as) == 0 {
		return nil, nil, nil
	}
	wanted := mapped(as, newAddressRow)
	keys := mapped(wanted, func(row addressRow) string { return row.ValueKey })
	rows, err := ensure[addressRow](ctx, r.tx, len(as),
		stmt("SELECT "+addressColumns+" FROM addresses WHERE organization_id = ? AND member_id = ? AND value_key ?",
			org, m, among(r.dialect, keys)),
		stmt(`INSERT INTO addresses (organization_id, member_id, value, value_key, name, type)
			SELECT m.organization_id, m.id, s.value, s.value_key, s.name, s.type
			FROM members m CROSS JOIN (?) AS s WHERE m.organization_id = ? AND m.id = ?
			ON CONFLICT DO NOTHING RETURNING `+addressColumns,
			rowSet(r.dialect, wanted, "value text", "value_key text", "name text", "type text"), org, m))
	if err != nil {
		return nil, nil, err
	}
	byKey := make(map[string]ensured[addressRow], len(rows))
	for _, row := range rows {
		byKey[row.Row.ValueKey] = row
	}
	stored, created := make([]users.Address, len(as)), make([]bool, len(as))
	for i, key := range keys {
		row, there := byKey[key]
		if !there { // only when there is no such member
			return nil, nil, users.ErrNotFound
		}
		stored[i], created[i] = row.Row.address(), row.Created
	}
	return stored, created, nil
}

func (r addressRepo) List(
	ctx context.Context, org orgs.ID, m users.MemberID, after users.AddressID, limit int,
) ([]users.Address, error) {
	return page(r.db(ctx).Where("organization_id = ? AND member_id = ?", org, m), after, limit, addressRow.address)
}

// Remove leaves the assignments and what hangs on them to the foreign keys; deliveries refer to nothing.
func (r addressRepo) Remove(ctx context.Context, org orgs.ID, m users.MemberID, id users.AddressID) error {
	err := r.skipRemoved(ctx, `member_id = @member AND assignment_id IN (SELECT s.id FROM assignments s JOIN addresses a ON a.id = s.address_id
		WHERE a.id = @address AND a.member_id = @member AND a.organization_id = @organization )`,
		map[string]any{"member": m, "address": id, "organization": org})
	if err != nil {
		return err
	}
	return change(r.db(ctx), users.ErrAddressNotFound,
		"DELETE FROM addresses WHERE organization_id = ? AND member_id = ? AND id = ?", org, m, id)
}

func (r addressRepo) Holders(ctx context.Context, org orgs.ID, keys []string) ([]users.Address, error) {
	q := r.dialect.lookUp(textSet(r.dialect, keys), addressColumns, "addresses", "r.organization_id = ? AND r.value_key = s.value AND r.type = ?",
		org, users.Email)
	return all(r.db(ctx).Raw(q.sql+" ORDER BY id", q.args...), addressRow.address)
}
