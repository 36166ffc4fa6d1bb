package gormstore

import (
	"context"
	"iter"
	"time"

	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
)

// A search reads the index in growing chunks, up to about maxSearched entries. Then it returns its
// results, because there may be few matches among very many entries.
const (
	searchChunk  = 1_000
	searchGrowth = 4
	maxSearched  = 10_000
)

// maxFieldBytes is the size of the custom fields at which a batch of members ends before it is
// full. Decoded, they take up to twenty times as much memory.
const maxFieldBytes = 256 << 10

// chunkSizes yields the sizes of the chunks that a search for limit results reads.
func chunkSizes(limit int) iter.Seq[int] {
	return func(yield func(int) bool) {
		stride := min(limit+1, searchChunk)
		for read := 0; read < maxSearched && yield(stride); stride = min(stride*searchGrowth, searchChunk) {
			read += stride
		}
	}
}

// search is a running query. It reads the entries of one index in order, and keeps the members that
// match the whole query.
type search struct {
	userRepo

	org   orgs.ID
	q     users.Query
	terms []string // of the query
	count bool     // only count: the size of the members does not matter
}

// indexEntry is an entry of an index with its member.
type indexEntry struct {
	Key      string
	At       int64
	MemberID users.MemberID
}

// matchRow is a member that matches the conditions of the query that SQL can check.
type matchRow struct {
	ID           users.MemberID
	First        int64  // the member's first list entry, in a search by list entries
	Word         string // the member's first word, in a search by words
	CustomFields string // if the query uses them
	Size         int    // of the custom fields, in bytes
}

// Search finds the index with the fewest candidates, and reads it.
func (r userRepo) Search(ctx context.Context, org orgs.ID, q users.Query) (users.Found, error) {
	s := search{userRepo: r, org: org, q: q, terms: users.Terms(q.Text)}
	if q.Text != "" && len(s.terms) == 0 {
		return users.Found{}, nil
	}
	by, err := s.source(ctx)
	if err == nil && q.Since != 0 {
		s.q.After, err = s.since(ctx, by)
	}
	if err != nil {
		return users.Found{}, err
	}
	var ids []users.MemberID
	var found users.Found
	few := false
	if q.Sort != "" {
		ids, found, few, err = s.sortSmall(ctx)
	}
	if err == nil && !few {
		ids, found, err = s.scan(ctx, by)
	}
	if err != nil || len(ids) == 0 {
		return found, err
	}
	rows, err := rowsOf[foundRow](r.db(ctx).Raw("SELECT m.created_at, "+memberColumns(r.dialect, "m")+" FROM members m WHERE "+
		unindexed("m.organization_id")+" = ? AND m.id ?", org, among(r.dialect, ids)))
	if err != nil {
		return users.Found{}, err
	}
	found.Added = make(map[users.MemberID]time.Time, len(rows))
	for _, row := range rows {
		found.Added[row.Member.ID] = row.CreatedAt.UTC()
	}
	if found.Members, err = decoded(rows, func(r foundRow) (users.Member, error) { return r.Member.member() }); err != nil {
		return users.Found{}, err
	}
	sortByIDs(found.Members, idOf, ids)
	return found, nil
}

// foundRow is a found member with the time when it was created.
type foundRow struct {
	Member    memberRow `gorm:"embedded"`
	CreatedAt time.Time
}

// since returns the cursor of a member in a source.
func (s search) since(ctx context.Context, by source) (users.Cursor, error) {
	at := users.Cursor{Order: by.order, ID: int64(s.q.Since)}
	if by.order != users.ByWord {
		return at, nil
	}
	at.Term = by.term
	var words []string
	err := s.db(ctx).Raw("SELECT word FROM member_words WHERE member_id = ? AND "+unindexed("organization_id")+" = ? AND word >= ? AND word < ? ORDER BY word LIMIT 1",
		s.q.Since, s.org, by.term, by.term+users.PrefixEnd).Scan(&words).Error
	if err == nil && len(words) == 0 {
		err = users.ErrSince
	}
	if err == nil {
		at.Key = words[0]
	}
	return at, err
}

// Count reads the source with the fewest candidates, as Search does.
func (r userRepo) Count(ctx context.Context, org orgs.ID, q users.Query, limit int) (n int, more bool, err error) {
	q.After, q.Since, q.Limit, q.Sort = users.Cursor{}, 0, limit, ""
	s := search{userRepo: r, org: org, q: q, terms: users.Terms(q.Text), count: true}
	if q.IsZero() {
		n, err = s.countUpTo(ctx, s.allMembers(), limit+1)
		return min(n, limit), n > limit, err
	}
	if q.Text != "" && len(s.terms) == 0 {
		return 0, false, nil
	}
	by, err := s.source(ctx)
	if err != nil {
		return 0, false, err
	}
	ids, found, err := s.scan(ctx, by)
	return len(ids), found.More, err
}

// scan reads a source until it has found as many members as the query wants, or has reached the
// limit.
func (s search) scan(ctx context.Context, by source) (ids []users.MemberID, found users.Found, err error) {
	found.Next = users.Cursor{Order: by.order, Term: by.term}
	if s.q.After.Order == by.order && s.q.After.Term == by.term {
		found.Next = s.q.After
	}
	size := 0
	for stride := range chunkSizes(s.q.Limit) {
		places, err := s.readEntries(ctx, by, found.Next, stride)
		if err != nil {
			return nil, users.Found{}, err
		}
		picked, err := s.match(ctx, by, places)
		if err != nil {
			return nil, users.Found{}, err
		}
		for i, p := range places {
			if picked[i].ID != 0 && (len(ids) == s.q.Limit || size >= maxFieldBytes && !s.count) {
				found.More = true // and Next is the last one found
				return ids, found, nil
			}
			if picked[i].ID != 0 {
				ids = append(ids, picked[i].ID)
				size += picked[i].Size
			}
			found.Next.Key, found.Next.ID = p.Key, p.At
		}
		if len(places) < stride {
			return ids, found, nil
		}
	}
	found.More = true
	return ids, found, nil
}

// match returns, for each entry, its member if it matches the query, else one with the id 0.
func (s search) match(ctx context.Context, by source, places []indexEntry) ([]matchRow, error) {
	if len(places) == 0 {
		return nil, nil
	}
	c := s.conditions(by)
	c.add("m.id ?", among(s.dialect, mapped(places, func(p indexEntry) users.MemberID { return p.MemberID })))
	sql, args := c.query()
	rows, err := rowsOf[matchRow](s.db(ctx).Raw(sql, args...))
	if err != nil {
		return nil, err
	}
	byMember := make(map[users.MemberID]matchRow, len(rows))
	for _, row := range rows {
		if !s.q.Metadata.IsZero() {
			fields, err := memberFields(row.ID, row.CustomFields)
			if err != nil {
				return nil, err
			}
			if !s.q.Metadata.Matches(fields) {
				continue
			}
		}
		row.CustomFields = ""
		byMember[row.ID] = row
	}
	picked := make([]matchRow, len(places))
	for i, p := range places {
		row := byMember[p.MemberID]
		if by.order == users.ByEntry && row.First != p.At { // A member with several addresses on the list is found once.
			continue
		}
		if by.order == users.ByWord && row.Word != p.Key { // A member with several such words is found by the first.
			continue
		}
		picked[i] = row
	}
	return picked, nil
}
