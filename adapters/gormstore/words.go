package gormstore

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// These methods maintain the search index of members. A unit that changes one member also indexes
// it, before it commits. A unit that changes several only records their ids in notes, and Index
// indexes them later.

// maxNoteSize is the maximum number of members in one note.
const maxNoteSize = 100

// wordSourceRow has the data from which a member's words come, and the indexed words.
type wordSourceRow struct {
	ID       users.MemberID
	Username string
	users.Details
	CustomFields string
	Searchable   string // JSON arrays
	Addresses    string
	Words        string
}

// selectWordSources selects members and locks them, so that of two units that index the same member
// the later one sees the words of the earlier one.
func selectWordSources(d dialect) string {
	array := "json_group_array(r.value)"
	if d == onPostgres {
		array = "COALESCE(json_agg(r.value)::text, '[]')"
	}
	return "SELECT m.id, m.username, " + detailColumns("m") + ", m.custom_fields, o.searchable, " +
		"(SELECT " + array + " FROM (SELECT a.value FROM addresses a WHERE a.organization_id = m.organization_id AND a.member_id = m.id" +
		" ORDER BY a.value_key LIMIT 100) AS r) AS addresses, " +
		"(SELECT " + array + " FROM (SELECT w.word AS value FROM member_words w WHERE w.member_id = m.id) AS r) AS words " +
		"FROM members m JOIN organizations o ON o.id = ? WHERE m.id ? AND " + unindexed("m.organization_id") + " = o.id ORDER BY m.id" + d.lockRowsOf("m")
}

// words returns the wanted words of the member, and the indexed ones.
func (r wordSourceRow) words() (wanted, indexed []string, err error) {
	m := users.Member{ID: r.ID, User: users.User{Username: r.Username}, Details: r.Details}
	if m.CustomFields, err = memberFields(r.ID, r.CustomFields); err != nil {
		return nil, nil, err
	}
	searchable, err := searchablePaths(r.Searchable)
	if err != nil {
		return nil, nil, err
	}
	var addresses []string
	if err := json.Unmarshal([]byte(r.Addresses), &addresses); err != nil {
		return nil, nil, unreadable(err, "addresses of member %d", r.ID)
	}
	if err := json.Unmarshal([]byte(r.Words), &indexed); err != nil {
		return nil, nil, unreadable(err, "words of member %d", r.ID)
	}
	slices.Sort(indexed)
	return users.Words(m, addresses, append(searchable, orgs.ExternalID)), indexed, nil
}

// wordRow is a word of a member.
type wordRow struct {
	word   string
	member int64
}

// changedMembers are the members whose words a unit has changed, or may have, by organization.
type changedMembers map[orgs.ID]map[users.MemberID]bool

// indexing runs fn in the unit, and then indexes the members whose words fn has changed.
func (t tx) indexing(ctx context.Context, fn func(ports.Tx) error) error {
	t.changedMembers = changedMembers{}
	if err := fn(t); err != nil {
		return err
	}
	return t.indexChanged(ctx)
}

// indexLater records that the unit has changed words of these members, or may have.
func (t tx) indexLater(org orgs.ID, members ...users.MemberID) {
	if len(members) > 0 && t.changedMembers[org] == nil {
		t.changedMembers[org] = make(map[users.MemberID]bool, len(members))
	}
	for _, m := range members {
		t.changedMembers[org][m] = true
	}
}

// indexChanged indexes the single member that the unit has changed, or stores notes of several.
func (t tx) indexChanged(ctx context.Context) error {
	for org, members := range t.changedMembers {
		ids, write := slices.Sorted(maps.Keys(members)), t.note
		if len(ids) == 1 && len(t.changedMembers) == 1 {
			write = t.index
		}
		if err := write(ctx, org, ids); err != nil {
			return err
		}
	}
	return nil
}

// note stores notes of members to be indexed.
func (t tx) note(ctx context.Context, org orgs.ID, ids []users.MemberID) error {
	var notes []string
	var sizes []int64
	for note := range slices.Chunk(ids, maxNoteSize) {
		notes, sizes = append(notes, jsonArray(note)), append(sizes, int64(len(note)))
	}
	set := columnsOf(t.dialect, setColumn{"members", notes}, setColumn{"size", sizes})
	return t.sets().exec(deferred(t.statementContext(ctx)), "INSERT INTO member_words_notes (organization_id, members, size) SELECT "+set.arg(1)+
		", s.members, s.size FROM "+set.from+" WHERE TRUE", set.values(), []any{org})
}

// index updates the words of members.
func (t tx) index(ctx context.Context, org orgs.ID, ids []users.MemberID) error {
	if len(ids) == 0 {
		return nil
	}
	rows, err := rowsOf[wordSourceRow](t.db(ctx).Raw(selectWordSources(t.dialect), org, among(t.dialect, ids)))
	if err != nil {
		return err
	}
	var anew []users.MemberID
	var missing []wordRow
	for _, row := range rows {
		wanted, indexed, err := row.words()
		if err != nil {
			return err
		}
		if slices.ContainsFunc(indexed, func(w string) bool { _, keeps := slices.BinarySearch(wanted, w); return !keeps }) {
			anew, indexed = append(anew, row.ID), nil
		}
		for _, w := range wanted {
			if _, is := slices.BinarySearch(indexed, w); !is {
				missing = append(missing, wordRow{w, int64(row.ID)})
			}
		}
	}
	if len(anew) > 0 {
		err := t.db(ctx).Exec("DELETE FROM member_words WHERE member_id ? AND "+unindexed("organization_id")+" = ?", among(t.dialect, anew), org).Error
		if err != nil {
			return err
		}
	}
	return t.addWords(ctx, org, missing)
}

// addWords inserts words in the order of the index, which is fastest.
func (t tx) addWords(ctx context.Context, org orgs.ID, rows []wordRow) error {
	if len(rows) == 0 {
		return nil
	}
	slices.SortFunc(rows, func(a, b wordRow) int { return cmp.Or(cmp.Compare(a.word, b.word), cmp.Compare(a.member, b.member)) })
	set := columnsOf(t.dialect, setColumn{"word", mapped(rows, func(r wordRow) string { return r.word })},
		setColumn{"member_id", mapped(rows, func(r wordRow) int64 { return r.member })})
	return t.sets().exec(deferred(t.statementContext(ctx)), "INSERT INTO member_words (organization_id, word, member_id) SELECT "+set.arg(1)+", s.word, s.member_id FROM "+
		set.from+" WHERE TRUE"+onConflictDoNothing, set.values(), []any{org})
}

func (r userRepo) Unindexed(ctx context.Context) (waits bool, latest int64, err error) {
	err = r.db(ctx).Raw("SELECT COALESCE((SELECT n.id FROM member_words_notes n ORDER BY n.id DESC LIMIT 1), 0), EXISTS (SELECT 1 FROM word_builds LIMIT 1)").
		Row().Scan(&latest, &waits)
	return waits || latest > 0, latest, err
}

// noteRow is a note of members to be indexed.
type noteRow struct {
	ID      int64
	Members string // a JSON array
	Size    int
}

func (r userRepo) Index(ctx context.Context, after orgs.ID, limit int) (done int, org orgs.ID, err error) {
	org, err = r.nextToIndex(ctx, after)
	if err == nil && org == 0 && after != 0 {
		org, err = r.nextToIndex(ctx, 0)
	}
	if err != nil || org == 0 {
		return 0, 0, err
	}
	rows, err := rowsOf[noteRow](r.db(ctx).Raw("SELECT id, members, size FROM member_words_notes WHERE organization_id = ? ORDER BY id LIMIT ?", org, limit))
	if err != nil {
		return 0, org, err
	}
	if len(rows) == 0 {
		done, err = r.buildIndex(ctx, org, limit)
		return done, org, err
	}
	var members []users.MemberID
	var taken []int64
	for _, row := range rows {
		if done += row.Size; done > limit && len(taken) > 0 {
			done -= row.Size
			break
		}
		var ids []users.MemberID
		if err := json.Unmarshal([]byte(row.Members), &ids); err != nil {
			return 0, org, unreadable(err, "note %d of members", row.ID)
		}
		taken, members = append(taken, row.ID), append(members, ids...)
	}
	if err := r.index(ctx, org, members); err != nil {
		return 0, org, err
	}
	return done, org, r.db(ctx).Exec("DELETE FROM member_words_notes WHERE id ? AND "+unindexed("organization_id")+" = ?", among(r.dialect, taken), org).Error
}

// nextToIndex returns the next organization that has members to index; 0: none.
func (r userRepo) nextToIndex(ctx context.Context, after orgs.ID) (next orgs.ID, err error) {
	err = r.db(ctx).Raw(`SELECT COALESCE(MIN(n.next), 0) FROM (
		SELECT (SELECT MIN(organization_id) FROM member_words_notes WHERE organization_id > @after ) AS next
		UNION ALL SELECT (SELECT MIN(organization_id) FROM word_builds WHERE organization_id > @after )) n`,
		map[string]any{"after": after}).Row().Scan(&next)
	return next, err
}

// buildRow is the progress of building an organization's index.
type buildRow struct {
	OrganizationID orgs.ID `gorm:"primaryKey;autoIncrement:false"`
	Position       users.MemberID
}

func (buildRow) TableName() string { return "word_builds" }

// buildIndex indexes the next members of an organization whose index is being built.
func (r userRepo) buildIndex(ctx context.Context, org orgs.ID, limit int) (int, error) {
	rows, err := rowsOf[buildRow](r.db(ctx).Where("organization_id = ?", org))
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	at := rows[0]
	ids, err := rowsOf[users.MemberID](r.db(ctx).Raw("SELECT id FROM members WHERE organization_id = ? AND id > ? ORDER BY id LIMIT ?", org, at.Position, limit))
	if err != nil {
		return 0, err
	}
	if len(ids) == 0 {
		err := r.db(ctx).Where("organization_id = ? AND position = ?", org, at.Position).Delete(&buildRow{}).Error
		return 1, err // Counts as work, because there may be more.
	}
	if err := r.index(ctx, org, ids); err != nil {
		return 0, err
	}
	return len(ids), r.db(ctx).Model(&buildRow{}).Where("organization_id = ?", org).Update("position", ids[len(ids)-1]).Error
}

func (r userRepo) Indexing(ctx context.Context, org orgs.ID) (users.Indexing, error) {
	var is users.Indexing
	rows, err := rowsOf[buildRow](r.db(ctx).Where("organization_id = ?", org))
	if err != nil {
		return is, err
	}
	if len(rows) > 0 {
		var last []users.MemberID
		last, err = rowsOf[users.MemberID](r.db(ctx).Raw("SELECT id FROM members WHERE organization_id = ? ORDER BY id DESC LIMIT 1", org))
		if is.Building = true; len(last) > 0 {
			is.Done = int(min(99, 100*rows[0].Position/last[0]))
		}
	}
	if err != nil {
		return is, err
	}
	err = r.db(ctx).Raw("SELECT COALESCE(SUM(few.size), 0) FROM (SELECT size FROM member_words_notes WHERE organization_id = ? ORDER BY id LIMIT ?) AS few",
		org, users.MaxWaiting).Scan(&is.Waiting).Error
	is.Waiting = min(is.Waiting, users.MaxWaiting)
	return is, err
}

// searchablePaths parses an organization's searchable metadata paths.
func searchablePaths(text string) (paths []string, err error) {
	if text == "[]" { // the usual case
		return nil, nil
	}
	if err := json.Unmarshal([]byte(text), &paths); err != nil {
		return nil, unreadable(err, "searchable metadata")
	}
	return paths, nil
}

func (r orgRepo) SetSearchable(ctx context.Context, id orgs.ID, paths []string) error {
	err := changed(r.db(ctx).Model(&organizationRow{}).Where("id = ? AND "+notSystem, id).Update("searchable", jsonArray(paths)), orgs.ErrNotFound)
	if err != nil {
		return err
	}
	return upsert(r.db(ctx), &buildRow{OrganizationID: id})
}
