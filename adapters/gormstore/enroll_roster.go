package gormstore

import (
	"cmp"
	"slices"

	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/users"
)

// roster is the people of a batch, each of them once.
type roster struct {
	byKey   map[string]*person
	order   []*person // as the batch names them, those it repeats included
	active  []*person // those who are to be enrolled, by key: everybody takes locks in this order
	members map[users.ID]*users.Member
	fields  map[users.MemberID]string // of members, as they were read
}

// person is an enrollment and what is known of its subject so far.
type person struct {
	users.Enrollment
	key     string
	fields  string // CustomFields as they are stored
	byEmail *users.Member
	user    users.User
	member  *users.Member

	created, enrolled, changed bool

	err error
}

// create gives somebody an identity.
func (p *person) create(id users.ID) {
	p.user = users.User{ID: id, Username: p.Email}
	p.created = true
}

func newRoster(b users.Batch) roster {
	n := len(b.Enrollments)
	r := roster{byKey: make(map[string]*person, n), order: make([]*person, n), active: make([]*person, 0, n),
		members: map[users.ID]*users.Member{}, fields: map[users.MemberID]string{}}
	people := make([]person, n)
	for i, one := range b.Enrollments {
		key := one.Key()
		p := r.byKey[key]
		if p == nil {
			p = &people[i]
			p.Enrollment, p.key = one, key
			var text []byte
			text, p.err = one.CustomFields.Encode()
			p.fields = string(text)
			r.byKey[key] = p
			r.active = append(r.active, p)
		}
		r.order[i] = p
	}
	r.dropFaulty()
	slices.SortFunc(r.active, func(a, b *person) int { return cmp.Compare(a.key, b.key) })
	return r
}

// dropFaulty takes those off for whom nothing more is to be done.
func (r *roster) dropFaulty() {
	r.active = slices.DeleteFunc(r.active, func(p *person) bool { return p.err != nil })
}

// there is those who were members before, by their id.
func (r *roster) there() map[users.MemberID]*person {
	there := map[users.MemberID]*person{}
	for _, p := range r.active {
		if !p.enrolled {
			there[p.member.ID] = p
		}
	}
	return there
}

// merging is the members who were there and are sent custom fields.
func (r *roster) merging() []*person {
	return slices.DeleteFunc(slices.Clone(r.active), func(p *person) bool { return p.enrolled || len(p.CustomFields) == 0 })
}

// merge merges the custom fields in memory and returns the members of whom they are others now.
func (r *roster) merge() map[users.MemberID]*users.Member {
	changed := map[users.MemberID]*users.Member{}
	for _, p := range r.merging() {
		merged, err := metadata.Merge.Apply(p.member.CustomFields, p.CustomFields)
		if err != nil {
			p.err = err
			continue
		}
		if !merged.Equal(p.member.CustomFields) {
			p.member.CustomFields, p.changed = merged, true
			changed[p.member.ID] = p.member
		}
	}
	r.dropFaulty()
	return changed
}

// answer is what became of each enrollment of the batch.
func (r *roster) answer() []users.Enrolled {
	answered := make(map[*person]bool, len(r.order))
	done := make([]users.Enrolled, len(r.order))
	for i, p := range r.order {
		if p.err != nil {
			done[i].Err = p.err
			continue
		}
		done[i].Member = *p.member
		if !answered[p] {
			done[i].Created, done[i].Enrolled, done[i].Changed = p.created, p.enrolled, p.changed
			answered[p] = true
		}
	}
	return done
}

// columnOf is one value of each person.
func columnOf[T any](people []*person, value func(*person) T) []T {
	column := make([]T, len(people))
	for i, p := range people {
		column[i] = value(p)
	}
	return column
}
