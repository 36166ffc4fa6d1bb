package gormstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"strconv"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
)

// These methods of listRepo are about the entries of lists.

// recipientQuery selects what recipients scans from assignments; a condition on their id follows.
const recipientQuery = `SELECT s.id, a.value AS address, m.username, s.channel_id, s.active FROM assignments s
		JOIN addresses a ON a.id = s.address_id
		JOIN members m ON m.id = a.member_id
		WHERE s.id `

// recipients returns the recipients of a query of recipientQuery, at most limit. It reads the names
// of their channels once, because a join that repeats the name in each row takes a tenth of the
// time.
func (r listRepo) recipients(ctx context.Context, org orgs.ID, q *gorm.DB, limit int) ([]lists.Recipient, error) {
	at := make([]channels.ID, 0, limit)
	var id, channel int64 // database/sql scans these without reflection.
	found, err := scanned(q, limit, func(rows *sql.Rows) (l lists.Recipient, err error) {
		err = rows.Scan(&id, &l.Address, &l.Username, &channel, &l.Active)
		l.ID = channels.AssignmentID(id)
		at = append(at, channels.ID(channel))
		return l, err
	})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	ids := slices.Compact(slices.Sorted(slices.Values(at)))
	named, err := rowsOf[channelRow](r.db(ctx).Select("id", "name").Where("organization_id = ? AND id ?", org, among(r.dialect, ids)))
	if err != nil {
		return nil, err
	}
	names := make(map[channels.ID]string, len(named))
	for _, row := range named {
		names[row.ID] = row.Name
	}
	for i, channel := range at {
		found[i].Channel = names[channel]
	}
	return found, nil
}

// Recipients reads a page of entries by their primary key and then looks up each recipient. The
// LATERAL join forces Postgres to do so: otherwise it reads whole tables for a page, or joins and
// sorts the whole list. SQLite keeps the order of CROSS JOIN.
func (r listRepo) Recipients(
	ctx context.Context, l lists.List, after channels.AssignmentID, limit int,
) ([]lists.Recipient, error) {
	entries := clause.Expr{SQL: `SELECT assignment_id FROM list_entries WHERE list_id = ? AND assignment_id > ?
		AND EXISTS (SELECT 1 FROM distribution_lists WHERE id = ? AND project_id = ? AND organization_id = ?)
		ORDER BY assignment_id LIMIT ?`,
		Vars: []any{l.ID, after, l.ID, l.Project, l.Organization, limit}}
	if r.dialect == onSQLite {
		var page string
		if err := r.db(ctx).Raw("SELECT coalesce(group_concat("+packedRecipient+`, ''), '') FROM (?) AS entry
			CROSS JOIN assignments s ON s.id = entry.assignment_id CROSS JOIN channels c ON c.id = s.channel_id
			CROSS JOIN addresses a ON a.id = s.address_id CROSS JOIN members m ON m.id = a.member_id`, entries).Row().Scan(&page); err != nil {
			return nil, err
		}
		return unpackRecipients(page, limit)
	}
	query := "SELECT r.* FROM (?) AS entry CROSS JOIN LATERAL (" + recipientQuery + "= entry.assignment_id OFFSET 0) AS r ORDER BY r.id"
	return r.recipients(ctx, l.Organization, r.db(ctx).Raw(query, entries), limit)
}

// packedRecipient is a recipient as text: its id, whether it is active, the lengths of its texts in
// bytes, and these texts. A page of SQLite is one value made of them, because the calls of its
// driver for each row and column take longer than the query.
const packedRecipient = `format('%d %d %d %d %d ', s.id, s.active, octet_length(a.value), octet_length(m.username), octet_length(c.name)) ||
	a.value || m.username || c.name`

// errUnpack is the error of a page whose lengths do not fit its texts.
var errUnpack = errors.New("a page of list members cannot be read")

// unpackRecipients returns the recipients of a page in the order of their ids. group_concat
// promises none.
func unpackRecipients(page string, limit int) ([]lists.Recipient, error) {
	if page == "" {
		return nil, nil
	}
	found := make([]lists.Recipient, 0, limit)
	for page != "" {
		var numbers [5]int
		for i := range numbers {
			digits, rest, _ := strings.Cut(page, " ")
			n, err := strconv.Atoi(digits)
			if err != nil {
				return nil, err
			}
			numbers[i], page = n, rest
		}
		var texts [3]string
		for i, length := range numbers[2:] {
			if length < 0 || length > len(page) {
				return nil, errUnpack
			}
			texts[i], page = page[:length], page[length:]
		}
		found = append(found, lists.Recipient{
			ID: channels.AssignmentID(numbers[0]), Active: numbers[1] != 0,
			Address: texts[0], Username: texts[1], Channel: texts[2],
		})
	}
	slices.SortFunc(found, func(a, b lists.Recipient) int { return cmp.Compare(a.ID, b.ID) })
	return found, nil
}

func (r listRepo) Add(ctx context.Context, l lists.List, as []channels.AssignmentID) ([]channels.AssignmentID, error) {
	if len(as) == 0 {
		return nil, nil
	}
	inserted, err := rowsOf[channels.AssignmentID](r.db(ctx).Raw(`
		INSERT INTO list_entries (list_id, assignment_id)
		SELECT l.id, s.id FROM distribution_lists l
		JOIN assignments s ON s.organization_id = l.organization_id
		JOIN channels c ON c.id = `+unindexed("s.channel_id")+` AND `+channelOf("l.project_id")+`
		WHERE l.id = ? AND l.project_id = ? AND l.organization_id = ? AND s.id ?
		ON CONFLICT DO NOTHING RETURNING assignment_id`,
		l.ID, l.Project, l.Organization, among(r.dialect, as)))
	if err != nil {
		return nil, err
	}
	sortByIDs(inserted, func(a channels.AssignmentID) channels.AssignmentID { return a }, as)
	return inserted, nil
}

func (r listRepo) Remove(ctx context.Context, l lists.List, as []channels.AssignmentID) ([]lists.Recipient, error) {
	if len(as) == 0 {
		return nil, nil
	}
	gone, err := rowsOf[channels.AssignmentID](r.db(ctx).Raw(`DELETE FROM list_entries WHERE assignment_id ?
		AND list_id IN (SELECT id FROM distribution_lists WHERE id = ? AND project_id = ? AND organization_id = ?) RETURNING assignment_id`,
		among(r.dialect, as), l.ID, l.Project, l.Organization))
	if err != nil {
		return nil, err
	}
	return r.recipients(ctx, l.Organization, r.db(ctx).Raw(recipientQuery+"? ORDER BY s.id", among(r.dialect, gone)), len(gone))
}

func (r listRepo) RemoveFromPinned(ctx context.Context, a applications.Application, m users.MemberID) (int, error) {
	return affected(r.db(ctx).Exec(`DELETE FROM list_entries
		WHERE list_id IN (SELECT id FROM distribution_lists WHERE application_id = ? AND organization_id = ?)
		AND assignment_id IN (SELECT s.id FROM assignments s JOIN addresses a ON a.id = s.address_id
			WHERE a.member_id = ? AND a.organization_id = ?)`, a.ID, a.Organization, m, a.Organization))
}
