package gormstore

import (
	"context"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/users"
)

type recipientRow struct {
	ID       channels.AssignmentID
	Address  string
	Username string
	Channel  string
	Active   bool
}

// memberRecipientRow is a recipient with the member who holds the address.
type memberRecipientRow struct {
	Row recipientRow `gorm:"embedded"`

	Member users.MemberID
}

// memberIDRow is a member whose entries are looked up, as one row of a rowSet.
type memberIDRow struct {
	ID users.MemberID `json:"id"`
}

// entriesOfMembers selects the first recipients of a list that belong to each of a set of members.
func entriesOfMembers(d dialect) string {
	return "SELECT member, id, address, username, channel, active FROM (SELECT entries.*, ROW_NUMBER() OVER (PARTITION BY member ORDER BY id) AS nth FROM (" +
		d.lookUpJoined([]string{"m.id AS member", "e.id AS id", "a.value AS address", "m.username", "c.name AS channel", "e.active"},
			joinedTable{"members m", "m.id = s.id"}, joinedTable{"addresses a", "a.organization_id = m.organization_id AND a.member_id = m.id"},
			joinedTable{"assignments e", "e.address_id = a.id"}, joinedTable{"list_entries l", "l.list_id = @list AND l.assignment_id = e.id"},
			joinedTable{"channels c", "c.id = e.channel_id"}) + ") AS entries) AS numbered WHERE nth <= @most ORDER BY id"
}

// Search finds the members on the list that match a text, and looks up their entries.
func (r listRepo) Search(ctx context.Context, l lists.List, q lists.Query) (found lists.Found, err error) {
	if _, err := r.ByID(ctx, l.Organization, l.Project, l.ID); err != nil {
		return found, err
	}
	of, err := r.tx.Users().Search(ctx, l.Organization, users.Query{Text: q.Text, List: int64(l.ID), After: q.After, Limit: q.Limit})
	if err != nil {
		return found, err
	}
	found.Next, found.More = of.Next, of.More
	if len(of.Members) == 0 {
		return found, nil
	}
	held := mapped(of.Members, func(m users.Member) memberIDRow { return memberIDRow{m.ID} })
	rows, err := rowsOf[memberRecipientRow](r.db(ctx).Raw(entriesOfMembers(r.dialect),
		map[string]any{"set": rowSet(r.dialect, held, "id bigint"), "list": l.ID, "most": q.Recipients}))
	if err != nil {
		return lists.Found{}, err
	}
	entries := map[users.MemberID][]lists.Recipient{}
	for _, row := range rows {
		entries[row.Member] = append(entries[row.Member], lists.Recipient(row.Row))
	}
	for _, m := range of.Members {
		found.Recipients = append(found.Recipients, entries[m.ID]...)
	}
	return found, nil
}
