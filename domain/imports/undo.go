package imports

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"time"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
)

// UndoLife is how long after its start an import can be undone.
const UndoLife = 7 * 24 * time.Hour

// Errors of undoing an import.
var (
	ErrNotUndoable    = fault.New(fault.Invalid, "the import cannot be undone: it was not started, is not over, or was undone before")
	ErrTooOld         = fault.New(fault.Invalid, "the import cannot be undone any more: it was started more than a week ago")
	ErrFollowed       = fault.New(fault.Invalid, "the import cannot be undone: another import has written rows since it ended")
	ErrNothingCreated = fault.New(fault.Invalid, "there is nothing to undo: nothing is recorded that the import created")
)

// Creation is what an import created for one user.
type Creation struct {
	Member users.MemberID `json:"m"`
	// Digest is of the membership, as the import left it. Empty: the user was a member before.
	Digest string `json:"d,omitempty"`
	Group  bool   `json:"g,omitempty"` // an existing member was added to the group of the import
	Email  string `json:"e,omitempty"` // the address that an existing member got; empty: none
	// Address is the id of that address. 0: unknown.
	Address users.AddressID `json:"a,omitempty"`
}

// Creations are what one chunk of an import created.
type Creations struct {
	Number int // the row of the file that the chunk begins with
	People []Creation
}

// Undo is the progress and the result of an undo.
type Undo struct {
	Of        State       // the state of the import before; empty: no undo was begun
	Reason    string      // of that state
	By        audit.Actor // who began it
	People    int         // for whom the import created something
	Done      int         // of these
	New       int         // of these, users whom the import had added
	Removed   int         // memberships
	Addresses int         // of members who existed before the import
	Links     int         // of such members to the group of the import
	Changed   int         // kept, because they have changed since the import
	Used      int         // kept, because something else depends on them
	Gone      int         // that were already removed
	Above     int         // kept, because only administrators may change them
}

// Plus adds the result for further users.
func (u Undo) Plus(more Undo) Undo {
	u.Done += more.Done
	u.New += more.New
	u.Removed += more.Removed
	u.Addresses += more.Addresses
	u.Links += more.Links
	u.Changed += more.Changed
	u.Used += more.Used
	u.Gone += more.Gone
	u.Above += more.Above
	return u
}

// Unrecorded returns how many of the users that an import added have no record; 0 until all
// recorded ones are done.
func (u Undo) Unrecorded(added int) int {
	if u.Done < u.People {
		return 0
	}
	return max(0, added-u.New)
}

// digest returns a digest of the fields of a membership, without its groups and addresses. Digests
// of earlier imports are compared with it.
func digest(m users.Member) string {
	text := fmt.Appendf(nil, "%q", m.User.Username)
	for _, d := range m.List() {
		text = fmt.Appendf(text, " %q", *d.Value)
	}
	sum := sha256.Sum256(fmt.Appendf(text, " %q %t %s", m.Role, m.Locked, m.CustomFields.Digest()))
	return base64.RawURLEncoding.EncodeToString(sum[:9])
}

// Created returns what a chunk created, by its writes, for an import with a group (0: none). It
// ignores the Default group, to which every member belongs.
func Created(w users.Writes, group orgs.GroupID) []Creation {
	created := make([]Creation, 0, len(w.Members))
	fresh := make(map[*users.Member]bool, len(w.Members))
	for _, m := range w.Members {
		created, fresh[m] = append(created, Creation{Member: m.ID, Digest: digest(*m)}), true
	}
	place := map[users.MemberID]int{}
	of := func(m *users.Member) *Creation {
		i, known := place[m.ID]
		if !known {
			i, place[m.ID] = len(created), len(created)
			created = append(created, Creation{Member: m.ID})
		}
		return &created[i]
	}
	for _, l := range w.Links {
		if !fresh[l.Member] && group != 0 && l.Group == group {
			of(l.Member).Group = true
		}
	}
	for _, a := range w.Addresses {
		if !fresh[a.Member] {
			of(a.Member).Email = a.Email
		}
	}
	return created
}

// CurrentState is the current state of the users of some creations.
type CurrentState struct {
	Group     orgs.Group   // of the import; zero: it had none, or it was deleted
	Groups    []orgs.Group // to which all users of the import belonged
	Members   []users.Member
	Addresses []users.Address
	Used      []users.MemberID  // of whom something was made
	Assigned  []users.AddressID // that are assigned to a channel
	// MayChange returns an error for a member whom the user who undoes the import must not change.
	MayChange func(...users.Member) error
}

// Removal is what the undo of some creations removes.
type Removal struct {
	Members   []users.Member
	Unlinked  []users.MemberID
	Addresses []users.Address
	Undo      Undo
}

// Plus adds what the undo of further creations removes.
func (r Removal) Plus(more Removal) Removal {
	return Removal{Members: append(r.Members, more.Members...), Unlinked: append(r.Unlinked, more.Unlinked...),
		Addresses: append(r.Addresses, more.Addresses...), Undo: r.Undo.Plus(more.Undo)}
}

// Removal plans the undo of some creations: what is unchanged since the import is removed, all else
// stays.
func (p CurrentState) Removal(created []Creation) Removal {
	members := make(map[users.MemberID]users.Member, len(p.Members))
	for _, m := range p.Members {
		members[m.ID] = m
	}
	addresses := make(map[users.MemberID][]users.Address, len(p.Members))
	for _, a := range p.Addresses {
		addresses[a.Member] = append(addresses[a.Member], a)
	}
	used := newSet(p.Used)
	assigned := newSet(p.Assigned)
	groups := make([]string, len(p.Groups))
	for i, g := range p.Groups {
		groups[i] = g.Name
	}
	slices.Sort(groups)

	r := Removal{Undo: Undo{Done: len(created)}}
	for _, c := range created {
		m, there := members[c.Member]
		if c.Digest != "" {
			r.Undo.New++
		}
		switch {
		case !there:
			r.Undo.Gone++
		case c.Digest == "":
			p.restore(&r, c, m, addresses[m.ID], assigned)
		case digest(m) != c.Digest || !slices.Equal(slices.Sorted(slices.Values(m.Groups)), groups) || !hasOnlyImportedAddress(m, addresses[m.ID]):
			r.Undo.Changed++
		case used[m.ID]:
			r.Undo.Used++
		default:
			m.CustomFields = nil // They may be large, and nobody needs them any more.
			r.Members = append(r.Members, m)
			r.Undo.Removed++
		}
	}
	return r
}

// restore plans the undo for a member who existed before the import.
func (p CurrentState) restore(r *Removal, c Creation, m users.Member, has []users.Address, assigned map[users.AddressID]bool) {
	if p.MayChange(m) != nil {
		r.Undo.Above++
		return
	}
	if c.Group {
		if p.Group.ID != 0 && slices.Contains(m.Groups, p.Group.Name) {
			r.Unlinked = append(r.Unlinked, m.ID)
			r.Undo.Links++
		} else {
			r.Undo.Gone++
		}
	}
	if c.Email == "" {
		return
	}
	given := users.NewEmailAddress(c.Email)
	i := slices.IndexFunc(has, func(a users.Address) bool { return a.Key() == given.Key() && (c.Address == 0 || c.Address == a.ID) })
	switch {
	case i < 0:
		r.Undo.Gone++
	case has[i].Value != given.Value || has[i].Name != given.Name:
		r.Undo.Changed++
	case assigned[has[i].ID]:
		r.Undo.Used++
	default:
		r.Addresses = append(r.Addresses, has[i])
		r.Undo.Addresses++
	}
}

// hasOnlyImportedAddress reports whether a member has the address that an import gives, and no
// other.
func hasOnlyImportedAddress(m users.Member, has []users.Address) bool {
	given := users.NewEmailAddress(m.User.Username)
	return len(has) == 1 && has[0].Value == given.Value && has[0].Name == given.Name
}

func newSet[T comparable](all []T) map[T]bool {
	set := make(map[T]bool, len(all))
	for _, one := range all {
		set[one] = true
	}
	return set
}

// Undoable reports why the job cannot be undone now: ErrNotUndoable, ErrTooOld.
func (j Job) Undoable(now time.Time) error {
	switch {
	case !j.State.Over() || j.State == Undone || j.Started.IsZero():
		return ErrNotUndoable
	case now.After(j.Started.Add(UndoLife)):
		return ErrTooOld
	}
	return nil
}

// BeginUndo begins to undo an import. people is how many users still have a record of creations. It
// keeps the counts of an earlier undo that was stopped. ErrNotUndoable, ErrTooOld.
func (j Job) BeginUndo(people int, by audit.Actor, now time.Time) (Job, error) {
	if err := j.Undoable(now); err != nil {
		return j, err
	}
	if j.Undo.Of == "" { // Later it is the reason why the undo ended.
		j.Undo.Reason = j.Reason
	}
	j.Undo.Of, j.Undo.By, j.Undo.People = j.State, by, j.Undo.Done+people
	j.State, j.Touched, j.Failures, j.Reason, j.Pace = Undoing, now, 0, "", Pace{}
	return j, nil
}

// Editor returns the user who began the latest action: the undo, or else the import.
func (j Job) Editor() audit.Actor {
	if j.Undo.By.Name != "" {
		return j.Undo.By
	}
	return j.By
}

// stopUndo ends an undo before it is complete.
func (j Job) stopUndo(reason string) Job {
	j.State, j.Reason = j.Undo.Of, "the import was not undone completely: "+reason
	return j
}

// AdvanceUndo counts the next users of an undo.
func (j Job) AdvanceUndo(u Undo, now time.Time, lease time.Duration) Job {
	j.Undo = j.Undo.Plus(u)
	j.Failures = 0
	j.Until, j.Touched = now.Add(lease), now
	if j.Pace.Since.IsZero() {
		j.Pace = Pace{Since: now, From: j.Done} // The turns of organizations depend on when a job was last worked on.
	}
	return j
}
