package gormstore

import (
	"context"
	"fmt"

	"gorm.io/gorm/clause"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
)

// channelOf returns the condition under which a project (0: none) may use the channel c: it is one
// of the project, or of its organization. project is the SQL for the id of the project.
func channelOf(project string) string {
	return "(c.project_id IS NULL OR c.project_id = " + project + ")"
}

// assignmentColumns select an assignmentRow from assignments s, addresses a and channels c.
const assignmentColumns = `s.id, a.id AS address, a.value, c.id AS channel, c.project_id AS project, c.name, c.protocol,
	s.active, s.validated`

// assignmentRow is an assignment with the columns of its address and channel that the API returns.
type assignmentRow struct {
	ID        channels.AssignmentID
	Address   users.AddressID
	Value     string
	Channel   channels.ID
	Project   orgs.ProjectID
	Name      string
	Protocol  channels.Protocol
	Active    bool
	Validated bool
}

func (r assignmentRow) assignment() channels.Assignment { return channels.Assignment(r) }

// assignmentKey identifies an assignment.
type assignmentKey struct {
	address users.AddressID
	channel channels.ID
}

// assignmentSetRow is a new assignment as one row of a rowSet, and as the database returns it.
type assignmentSetRow struct {
	ID        channels.AssignmentID `json:"-"`
	AddressID users.AddressID       `json:"address_id"`
	ChannelID channels.ID           `json:"channel_id"`
	Active    bool                  `json:"active"`
	Validated bool                  `json:"validated"`
}

func (assignmentSetRow) TableName() string { return "assignments" }

func newAssignmentSetRow(a channels.Assignment) assignmentSetRow {
	return assignmentSetRow{AddressID: a.Address, ChannelID: a.Channel, Active: a.Active, Validated: a.Validated}
}

type assignmentRepo struct{ tx }

func (r assignmentRepo) Find(
	ctx context.Context, org orgs.ID, project orgs.ProjectID, id channels.AssignmentID,
) (channels.Assignment, error) {
	row, err := one[assignmentRow](r.db(ctx).Raw("SELECT "+assignmentColumns+`
		FROM assignments s JOIN addresses a ON a.id = s.address_id JOIN channels c ON c.id = s.channel_id
		WHERE s.id = ? AND s.organization_id = ? AND c.organization_id = ? AND `+channelOf("?"),
		id, org, org, project), channels.ErrAssignmentNotFound)
	return row.assignment(), err
}

// Ensure first selects the existing assignments with their addresses and channels: it needs one
// statement if nothing is new, two otherwise.
func (r assignmentRepo) Ensure(ctx context.Context, org orgs.ID, as []channels.Assignment) (stored []channels.Assignment, created []bool, err error) {
	if len(as) == 0 {
		return nil, nil, nil
	}
	// CROSS JOIN tells SQLite to start from the set.
	rows, err := rowsOf[assignmentRow](r.db(ctx).Raw("SELECT "+assignmentColumns+`
		FROM (?) AS wanted CROSS JOIN addresses a CROSS JOIN channels c
		LEFT JOIN assignments s ON s.address_id = a.id AND `+unindexed("s.channel_id")+` = c.id
		WHERE a.id = wanted.address_id AND `+unindexed("a.organization_id")+` = ? AND c.id = wanted.channel_id AND c.organization_id = ?`,
		r.assignmentSet(as), org, org))
	if err != nil {
		return nil, nil, err
	}
	known := make(map[assignmentKey]channels.Assignment, len(rows))
	for _, row := range rows {
		known[assignmentKey{row.Address, row.Channel}] = row.assignment()
	}
	var missing []channels.Assignment
	created = make([]bool, len(as))
	for i, a := range as {
		k, there := known[assignmentKey{a.Address, a.Channel}]
		switch {
		case !there:
			return nil, nil, channels.ErrAssignmentNotFound.With("an address or a channel of an assignment does not exist")
		case k.ID == 0:
			missing, created[i] = append(missing, a), true
		}
	}
	if err := r.add(ctx, org, missing, known); err != nil {
		return nil, nil, err
	}
	return mapped(as, func(a channels.Assignment) channels.Assignment { return known[assignmentKey{a.Address, a.Channel}] }), created, nil
}

// add stores new assignments and completes their data.
func (r assignmentRepo) add(
	ctx context.Context, org orgs.ID, as []channels.Assignment, known map[assignmentKey]channels.Assignment,
) error {
	if len(as) == 0 {
		return nil
	}
	inserted, err := rowsOf[assignmentSetRow](r.db(ctx).Raw(`
		INSERT INTO assignments (organization_id, address_id, channel_id, active, validated)
		SELECT o.id, wanted.address_id, wanted.channel_id, wanted.active, wanted.validated
		FROM (?) AS wanted CROSS JOIN organizations o WHERE o.id = ?
		ON CONFLICT DO NOTHING RETURNING id, address_id, channel_id, active, validated`, r.assignmentSet(as), org))
	for _, row := range inserted {
		key := assignmentKey{row.AddressID, row.ChannelID}
		a := known[key]
		a.ID, a.Active, a.Validated = row.ID, row.Active, row.Validated
		known[key] = a
	}
	if err == nil && len(inserted) != len(as) {
		err = fmt.Errorf("%d of %d new assignments were stored", len(inserted), len(as))
	}
	return err
}

func (r assignmentRepo) assignmentSet(as []channels.Assignment) clause.Expr {
	return rowSet(r.dialect, mapped(as, newAssignmentSetRow), "address_id bigint", "channel_id bigint", "active boolean", "validated boolean")
}

func (r assignmentRepo) OfMember(ctx context.Context, org orgs.ID, m users.MemberID, limit int) ([]channels.Assignment, error) {
	return all(r.db(ctx).Raw("SELECT "+assignmentColumns+`
		FROM assignments s JOIN addresses a ON a.id = s.address_id JOIN channels c ON c.id = s.channel_id
		WHERE a.organization_id = ? AND a.member_id = ? AND s.organization_id = ? AND c.organization_id = ?
		ORDER BY s.id LIMIT ?`, org, m, org, org, limit), assignmentRow.assignment)
}

func (r assignmentRepo) OfMemberByID(ctx context.Context, org orgs.ID, m users.MemberID, id channels.AssignmentID) (channels.Assignment, error) {
	row, err := one[assignmentRow](r.db(ctx).Raw("SELECT "+assignmentColumns+`
		FROM assignments s JOIN addresses a ON a.id = s.address_id JOIN channels c ON c.id = s.channel_id
		WHERE s.id = ? AND s.organization_id = ? AND a.member_id = ? AND a.organization_id = ? AND c.organization_id = ?`,
		id, org, m, org, org), channels.ErrAssignmentNotFound)
	return row.assignment(), err
}

func (r assignmentRepo) Save(ctx context.Context, org orgs.ID, a channels.Assignment) error {
	return changed(r.db(ctx).Where("id = ? AND organization_id = ?", a.ID, org).
		Select("Active", "Validated").Updates(&assignmentSetRow{Active: a.Active, Validated: a.Validated}), channels.ErrAssignmentNotFound)
}

// Remove leaves list entries and subscriptions to the foreign keys; deliveries have no references.
func (r assignmentRepo) Remove(ctx context.Context, org orgs.ID, a channels.Assignment) error {
	err := r.skipRemoved(ctx, `assignment_id = @assignment AND member_id IN (SELECT a.member_id FROM assignments s JOIN addresses a ON a.id = s.address_id
		WHERE s.id = @assignment AND s.organization_id = @organization )`, map[string]any{"assignment": a.ID, "organization": org})
	if err != nil {
		return err
	}
	return changed(r.db(ctx).Where("id = ? AND organization_id = ?", a.ID, org).Delete(&assignmentSetRow{}), channels.ErrAssignmentNotFound)
}

func (r assignmentRepo) OfAddresses(
	ctx context.Context, org orgs.ID, project orgs.ProjectID, p channels.Protocol, as []users.AddressID,
) ([]channels.Assignment, error) {
	return all(r.db(ctx).Raw("SELECT "+assignmentColumns+`
		FROM assignments s JOIN addresses a ON a.id = s.address_id JOIN channels c ON c.id = `+unindexed("s.channel_id")+`
		WHERE s.address_id ? AND s.organization_id = ? AND c.organization_id = ? AND c.protocol = ? AND `+channelOf("?")+`
		ORDER BY s.id`, among(r.dialect, as), org, org, p, project), assignmentRow.assignment)
}
