package users

import (
	"cmp"
	"maps"
	"slices"

	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/orgs"
)

// Batch is a set of enrollments into one organization, treated alike.
type Batch struct {
	Enrollments []Enrollment
	// Group is linked in addition to the Default group; 0 for none. It belongs to the organization.
	Group orgs.GroupID
	// MergeFields merges the custom fields into those of existing members (import); otherwise they
	// count only for memberships that the batch creates (POST).
	MergeFields bool
	// MayChange returns an error for an existing member who must not be changed: an enrollment that
	// would change that member is refused. Nil: all may be changed.
	MayChange func(...Member) error
	// MaxBytes is how much Memory the existing members may take together; 0: there is no limit. A
	// single enrollment is never too large.
	MaxBytes int
}

// Keys returns the keys of the enrollments, each once and sorted.
func (b Batch) Keys() []string {
	keys := make([]string, len(b.Enrollments))
	for i, e := range b.Enrollments {
		keys[i] = e.Key()
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// Match is a user whom an enrollment may mean.
type Match struct {
	Key string // of the enrollment
	// User is the identity whose username has this key; 0 when it is the member's e-mail that has
	// it.
	User ID
	// Member is the membership in the organization; nil for an identity that has none there.
	Member *Member
	// Holds reports whether the member holds the e-mail address with this key.
	Holds bool
}

// Enrolled is the result of one enrollment.
type Enrolled struct {
	Member   Member
	Created  bool // the identity is new
	Enrolled bool // the membership is new
	Changed  bool // an existing membership gained a group, an address or other fields
	// Err is set when this enrollment alone was refused: its merged fields would be too large, or
	// the member must not be changed. Nothing of it is stored.
	Err error
}

// Plan is the changes of a batch: who is created, who becomes a member, and what changes for
// existing members. A dry run is a plan that is not written.
type Plan struct {
	Writes Writes

	batch  Batch
	groups []orgs.Group         // to which all belong afterwards
	linked []string             // their names, sorted
	people []*planned           // each person once, by key
	order  []*planned           // as the batch names them, repetitions included
	known  map[MemberID]*Member // the plan's own copies of the members who were there
	merged map[MemberID]bool    // of these, those with changed custom fields
}

// Writes are the rows that a plan adds and changes. Each set has one fixed order, so that two units
// of work never wait for each other. The store gives ids to new rows.
type Writes struct {
	Organization orgs.ID
	// Identities are the members whose identity is new.
	Identities []*Member
	// Members are the new memberships. They include those of new identities.
	Members []*Member
	// Fields are the existing members with changed custom fields, by id. All else is in the order
	// of the keys.
	Fields    []*Member
	Links     []GroupLink
	Addresses []EnrolledAddress
	// Shared reports whether Links and Addresses contain existing members. No other unit can link a
	// new member or add an address of one.
	Shared bool
}

// GroupLink puts a member into a group.
type GroupLink struct {
	Member *Member
	Group  orgs.GroupID
}

// EnrolledAddress gives a member the e-mail address that they enroll with.
type EnrolledAddress struct {
	Member *Member
	Email  string
}

// planned is one person of a batch with the plan for them.
type planned struct {
	Enrollment
	key string

	byUsername Match // User is 0 when there is none
	byEmail    Match // Member is nil when there is none

	member                     *Member
	created, enrolled, changed bool
	err                        error
}

// NewPlan plans the changes of a batch. groups are the groups of all members afterwards; found are
// the matches of the keys of the batch in the organization. An enrollment refers to the identity
// with this username, else to the member with this e-mail, the one with the lowest id of several,
// else to a new identity. If several enrollments have one key, only the first counts.
func NewPlan(org orgs.ID, groups []orgs.Group, b Batch, found []Match) *Plan {
	p := &Plan{Writes: Writes{Organization: org}, batch: b, groups: groups,
		known: map[MemberID]*Member{}, merged: map[MemberID]bool{}}
	for _, g := range groups {
		p.linked = append(p.linked, g.Name)
	}
	slices.Sort(p.linked)
	p.match(found)
	for _, one := range p.people {
		p.decide(one)
	}
	for _, id := range slices.Sorted(maps.Keys(p.merged)) {
		p.Writes.Fields = append(p.Writes.Fields, p.known[id])
	}
	return p
}

// match lists the people of the batch with those whom they may be.
func (p *Plan) match(found []Match) {
	n := len(p.batch.Enrollments)
	byKey := make(map[string]*planned, n)
	p.order, p.people = make([]*planned, n), make([]*planned, 0, n)
	all := make([]planned, n)
	for i, e := range p.batch.Enrollments {
		key := e.Key()
		one := byKey[key]
		if one == nil {
			one = &all[i]
			one.Enrollment, one.key = e, key
			byKey[key] = one
			p.people = append(p.people, one)
		}
		p.order[i] = one
	}
	slices.SortFunc(p.people, func(a, b *planned) int { return cmp.Compare(a.key, b.key) })
	for _, m := range found {
		one := byKey[m.Key]
		switch {
		case one == nil:
		case m.User != 0:
			one.byUsername = m
		case one.byEmail.Member == nil || m.Member.ID < one.byEmail.Member.ID:
			one.byEmail = m
		}
	}
}

// decide plans the changes for one person.
func (p *Plan) decide(one *planned) {
	m := one.byUsername
	if m.User == 0 {
		m = one.byEmail
	}
	if m.Member != nil {
		p.change(one, p.copyOf(m.Member), m.Holds)
		return
	}
	p.add(one, m.User)
}

// copyOf returns the plan's copy of a member, whom several keys may mean.
func (p *Plan) copyOf(m *Member) *Member {
	if p.known[m.ID] == nil {
		c := *m
		c.Groups = slices.Clone(m.Groups)
		p.known[m.ID] = &c
	}
	return p.known[m.ID]
}

// add makes an identity a member, and creates it when it is 0.
func (p *Plan) add(one *planned, identity ID) {
	one.enrolled, one.created = true, identity == 0
	one.member = &Member{Organization: p.Writes.Organization, User: User{ID: identity, Username: one.Email},
		Details: one.Details, Role: RoleMember, CustomFields: one.CustomFields, Groups: p.linked}
	if one.CustomFields == nil {
		one.member.CustomFields = metadata.Map{}
	}
	w := &p.Writes
	if one.created {
		w.Identities = append(w.Identities, one.member)
	}
	w.Members = append(w.Members, one.member)
	for _, g := range p.groups {
		w.Links = append(w.Links, GroupLink{Member: one.member, Group: g.ID})
	}
	w.Addresses = append(w.Addresses, EnrolledAddress{Member: one.member, Email: one.Email})
}

// change adds what an existing member lacks. A member who must not be changed, and one whose fields
// would become too large, stays unchanged.
func (p *Plan) change(one *planned, m *Member, holds bool) {
	one.member = m
	fields, merged := m.CustomFields, false
	if p.batch.MergeFields && len(one.CustomFields) > 0 {
		if fields, one.err = metadata.Merge.Apply(m.CustomFields, one.CustomFields); one.err != nil {
			return
		}
		merged = !fields.Equal(m.CustomFields)
	}
	var missing []orgs.Group
	for _, g := range p.groups {
		if !slices.Contains(m.Groups, g.Name) {
			missing = append(missing, g)
		}
	}
	one.changed = merged || len(missing) > 0 || !holds
	if !one.changed {
		return
	}
	if p.batch.MayChange != nil {
		if one.err = p.batch.MayChange(*m); one.err != nil {
			return
		}
	}
	w := &p.Writes
	if merged {
		m.CustomFields = fields
		p.merged[m.ID] = true
	}
	for _, g := range missing {
		m.Groups = append(m.Groups, g.Name)
		w.Links = append(w.Links, GroupLink{Member: m, Group: g.ID})
	}
	slices.Sort(m.Groups)
	if !holds {
		w.Addresses = append(w.Addresses, EnrolledAddress{Member: m, Email: one.Email})
	}
	w.Shared = w.Shared || len(missing) > 0 || !holds
}

// Enrolled returns the result of each enrollment, in the order of the batch. New rows have their
// ids once the store has written them.
func (p *Plan) Enrolled() []Enrolled {
	answered := make(map[*planned]bool, len(p.order))
	done := make([]Enrolled, len(p.order))
	for i, one := range p.order {
		if one.err != nil {
			done[i].Err = one.err
			continue
		}
		done[i].Member = *one.member
		if !answered[one] {
			done[i].Created, done[i].Enrolled, done[i].Changed = one.created, one.enrolled, one.changed
			answered[one] = true
		}
	}
	return done
}
