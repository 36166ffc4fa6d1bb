package app

import (
	"context"
	"errors"
	"slices"

	"github.com/tocsin/tocsin/app/batch"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// Users is the user API (contract 4.1, decisions 4).
type Users struct {
	store     ports.Store
	creations *batch.Batcher[string, createCall]
}

// NewUsers returns the use cases on the members of an organization. workers are those of concurrent
// calls of Create.
func NewUsers(store ports.Store, workers batch.Workers) *Users {
	u := &Users{store: store}
	u.creations = batch.New(workers, func(ctx context.Context, org string, calls []*createCall) error {
		return u.create(ctx, org, calls, 0)
	}, (*createCall).Key, nil)
	return u
}

// Batched returns how many units of work Create has run, for how many calls.
func (u *Users) Batched() (units, calls int64) { return u.creations.Served() }

// Create makes a person a member of the organization, and creates the user if there is none;
// repeating it changes nothing. Concurrent calls are stored together. orgs.ErrNotFound.
func (u *Users) Create(ctx context.Context, by audit.Actor, at Path, e users.Enrollment) (users.Enrolled, error) {
	c := &createCall{Enrollment: e, by: by}
	if err := u.creations.Do(ctx, at.Organization, c); err != nil {
		return users.Enrolled{}, err
	}
	return c.done, c.done.Err
}

// Limits of CreateAll, because its results are in memory together.
const (
	createSet         = 250     // people read and written at once; each may have 64 KiB of metadata
	maxResultMetadata = 2 << 20 // bytes of metadata of all results
)

// CreateAll is Create for several people, in one unit of work, and returns their results in their
// order. A person who is named again counts once. orgs.ErrNotFound, a fault of too much metadata.
func (u *Users) CreateAll(ctx context.Context, by audit.Actor, at Path, all []users.Enrollment) ([]users.Enrolled, error) {
	calls := make([]*createCall, len(all))
	for i, e := range all {
		calls[i] = &createCall{Enrollment: e, by: by}
	}
	if err := u.create(ctx, at.Organization, calls, maxResultMetadata); err != nil {
		return nil, err
	}
	done := make([]users.Enrolled, len(calls))
	for i, c := range calls {
		done[i] = c.done
	}
	return done, nil
}

// createCall is a call of Create under way.
type createCall struct {
	users.Enrollment
	by   audit.Actor
	done users.Enrolled
}

// entry returns the audit entry of a call that has changed something.
func (c *createCall) entry(org string, e users.Enrolled) (audit.Entry, bool) {
	entry := audit.Entry{Organization: e.Member.Organization, Actor: c.by, Object: memberPath(Path{Organization: org}, e.Member)}
	switch {
	case e.Err != nil:
		return entry, false
	case e.Enrolled:
		entry.Action, entry.After = audit.MemberCreated, memberState(e.Member)
	case e.Changed:
		entry.Action, entry.After = audit.MemberUpdated, audit.State{"groups": e.Member.Groups, "address": c.Email}
	}
	return entry, entry.Action != ""
}

// create enrolls the people of several calls. It refuses them if their results have more bytes of
// metadata together than maxMetadata; 0: there is no limit.
func (u *Users) create(ctx context.Context, org string, calls []*createCall, maxMetadata int) error {
	return u.store.Update(ctx, func(tx ports.Tx) error {
		if err := checkMatched(ctx, tx, org, calls, maxMetadata); err != nil {
			return err
		}
		var entries []audit.Entry
		metadata := 0
		for set := range slices.Chunk(calls, createSet) {
			b := users.Batch{Enrollments: make([]users.Enrollment, len(set))}
			for i, c := range set {
				b.Enrollments[i] = c.Enrollment
			}
			done, err := Enroll(ctx, tx, org, b)
			if err != nil {
				return err
			}
			for i, c := range set {
				c.done = done[i]
				if e, changed := c.entry(org, done[i]); changed {
					entries = append(entries, e)
				}
				if maxMetadata == 0 {
					continue
				}
				text, err := c.done.Member.CustomFields.Encode()
				if err != nil {
					return err
				}
				if metadata += len(text); metadata > maxMetadata {
					return tooMuchMetadata(maxMetadata)
				}
			}
		}
		return tx.Audit().Record(ctx, entries...)
	})
}

// checkMatched refuses calls about existing members with more than maxMetadata before any of it is
// read. A few members cannot have that much.
func checkMatched(ctx context.Context, tx ports.Tx, org string, calls []*createCall, maxMetadata int) error {
	if maxMetadata == 0 || len(calls)*metadata.MaxBytes <= maxMetadata {
		return nil
	}
	at, err := tx.Orgs().BySlug(ctx, org)
	if err != nil {
		return err
	}
	b := users.Batch{Enrollments: make([]users.Enrollment, len(calls))}
	for i, c := range calls {
		b.Enrollments[i] = c.Enrollment
	}
	n, err := tx.Users().MatchedBytes(ctx, at.ID, b.Keys())
	if err == nil && n > maxMetadata {
		err = tooMuchMetadata(maxMetadata)
	}
	return err
}

func tooMuchMetadata(most int) error {
	return fault.Field("users", "have more than %d MiB of metadata together: send them in several calls", most>>20)
}

// List returns a batch of the members of an organization, fewer if their metadata is large;
// orgs.ErrNotFound.
func (u *Users) List(ctx context.Context, at Path, p Page) (users.Found, error) {
	return viewAt(ctx, u.store, at, organization, func(tx ports.Tx, org orgs.Organization) (found users.Found, err error) {
		after := users.MemberID(p.After)
		var n int
		if n, found.More, err = tx.Users().Fitting(ctx, org.ID, after, p.Limit); err != nil || n == 0 {
			return found, err
		}
		if found.Members, err = tx.Users().List(ctx, org.ID, after, n); err == nil && len(found.Members) > 0 {
			found.Next = users.Cursor{Order: users.ByID, ID: int64(found.Members[len(found.Members)-1].ID)}
		}
		return found, err
	})
}

// MemberFilter says which members a list shows; the zero MemberFilter: all.
type MemberFilter struct {
	users.Query // without its cursor and limit

	GroupName string
}

// within returns the path's organization and the query of a filter there; orgs.ErrNotFound. An
// unknown group is a fault of the caller.
func (f MemberFilter) within(ctx context.Context, tx ports.Tx, at Path) (orgs.ID, users.Query, error) {
	org, err := tx.Orgs().BySlug(ctx, at.Organization)
	if err != nil || f.GroupName == "" {
		return org.ID, f.Query, err
	}
	g, err := tx.Orgs().Group(ctx, org.ID, f.GroupName)
	if errors.Is(err, orgs.ErrGroupNotFound) {
		err = fault.Field("group", "there is no group with this name in the organization")
	}
	f.Group = g.ID
	return org.ID, f.Query, err
}

// Find returns a batch of the members of an organization that match a filter, by id. It may contain
// fewer than a page, or none, although there are more. orgs.ErrNotFound.
func (u *Users) Find(ctx context.Context, at Path, f MemberFilter, p Page) (users.Found, error) {
	return ports.View(ctx, u.store, func(tx ports.Tx) (users.Found, error) {
		org, q, err := f.within(ctx, tx, at)
		if err != nil {
			return users.Found{}, err
		}
		q.After, q.Limit = users.Cursor{Order: users.ByID, ID: p.After}, p.Limit
		return tx.Users().Search(ctx, org, q)
	})
}

// searchBatches is how many batches TopMatches reads at most.
const searchBatches = 20

// TopMatches returns at most limit members of an organization that match a filter with a text:
// members with the whole words first, then by name. When the text matches few among very many it
// may miss some. orgs.ErrNotFound.
func (u *Users) TopMatches(ctx context.Context, at Path, f MemberFilter, limit int) ([]users.Member, error) {
	return ports.View(ctx, u.store, func(tx ports.Tx) (ms []users.Member, err error) {
		org, q, err := f.within(ctx, tx, at)
		if err != nil {
			return ms, err
		}
		ms = nil // A unit may run more than once.
		for range searchBatches {
			q.Limit = limit - len(ms)
			found, err := tx.Users().Search(ctx, org, q)
			if err != nil {
				return ms, err
			}
			ms = append(ms, found.Members...)
			if !found.More || len(ms) == limit {
				return ms, nil
			}
			q.After = found.Next
		}
		return ms, nil
	})
}

// Count returns how many members of an organization match a filter, up to a limit, and reports
// whether there may be more.
func (u *Users) Count(ctx context.Context, at Path, f MemberFilter, limit int) (n int, more bool, err error) {
	err = u.store.View(ctx, func(tx ports.Tx) error {
		org, q, err := f.within(ctx, tx, at)
		if err != nil {
			return err
		}
		n, more, err = tx.Users().Count(ctx, org, q, limit)
		return err
	})
	return n, more, err
}

// Show returns a member by username, else by e-mail; orgs.ErrNotFound, users.ErrNotFound,
// users.ErrAmbiguous.
func (u *Users) Show(ctx context.Context, at Path, username string) (users.Member, error) {
	return ports.View(ctx, u.store, func(tx ports.Tx) (users.Member, error) {
		return member(ctx, tx, at, username)
	})
}

// MemberPatch is a change of a member. Fields nil leaves the custom fields; a blank detail changes
// nothing.
type MemberPatch struct {
	Details users.Details
	Fields  metadata.Map
	Mode    metadata.Mode
}

// NewMemberPatch checks the values of a change. Details are given by their names.
func NewMemberPatch(given func(name string) string, fields metadata.Map, mode string) (MemberPatch, error) {
	var faults fault.Fields
	p := MemberPatch{Fields: fields}
	var err error
	p.Details, err = users.NewDetails(given)
	faults.Add("", err)
	p.Mode, err = metadata.ParseMode(mode)
	faults.Add("_mode", err)
	faults.Add("custom_fields", fields.Check())
	return p, faults.Err()
}

// Patch changes an organization's data about a member: metadata, names, e-mail. users.ErrNotFound,
// users.ErrAmbiguous, users.ErrProtected, metadata.ErrTooLarge for the result of a merge.
func (u *Users) Patch(ctx context.Context, by audit.Actor, at Path, username string, p MemberPatch) (users.Member, error) {
	return updateAt(ctx, u.store, at, bind(changeableMember, username), func(tx ports.Tx, m users.Member) (changed users.Member, err error) {
		was := memberState(m)
		if err := saveDetails(ctx, tx, &m, p.Details); err != nil {
			return changed, err
		}
		if p.Fields != nil {
			if err := applyFields(ctx, tx, &m, p); err != nil {
				return changed, err
			}
		}
		changed = m
		before, after := audit.Changed(was, memberState(m))
		if len(after) == 0 {
			return changed, nil
		}
		return changed, record(ctx, tx, by, m.Organization, audit.MemberUpdated, memberPath(at, m), before, after)
	})
}

// saveDetails stores the given details that are not blank.
func saveDetails(ctx context.Context, tx ports.Tx, m *users.Member, given users.Details) error {
	was := m.Details
	if m.Details = was.With(given); m.Details == was {
		return nil
	}
	return tx.Users().SaveDetails(ctx, *m)
}

func applyFields(ctx context.Context, tx ports.Tx, m *users.Member, p MemberPatch) error {
	fields, err := p.Mode.Apply(m.CustomFields, p.Fields)
	if err != nil {
		var faults fault.Fields
		faults.Add("custom_fields", err)
		return faults.Err()
	}
	if fields.Equal(m.CustomFields) {
		return nil
	}
	m.CustomFields = fields
	return tx.Users().SaveFields(ctx, *m)
}

// Remove ends a membership of the organization with everything that depends on it and returns how
// many were ended: 1. The member is found by the username alone, so that a repeated call never
// reaches another member. users.ErrProtected.
func (u *Users) Remove(ctx context.Context, by audit.Actor, at Path, username string) (deleted int, err error) {
	err = u.store.Update(ctx, func(tx ports.Tx) error {
		m, err := memberByUsername(ctx, tx, at, username)
		if err == nil {
			err = m.CheckKeyAccess()
		}
		if err != nil {
			return err
		}
		if err := tx.Users().Remove(ctx, m); err != nil {
			return err
		}
		return record(ctx, tx, by, m.Organization, audit.MemberRemoved, memberPath(at, m), memberState(m), nil)
	})
	if err != nil {
		return 0, err
	}
	return 1, nil
}

// errNoUsername is the error of calls that take no e-mail address for the username.
var errNoUsername = users.ErrNotFound.With("the user is not a member of this organization: no member has this username, and an e-mail address is not accepted here")

// memberByUsername finds a member of the path's organization by the username alone.
func memberByUsername(ctx context.Context, tx ports.Tx, at Path, username string) (users.Member, error) {
	org, err := tx.Orgs().BySlug(ctx, at.Organization)
	if err != nil {
		return users.Member{}, err
	}
	m, err := tx.Users().ByUsername(ctx, org.ID, username)
	if errors.Is(err, users.ErrNotFound) {
		return m, errNoUsername
	}
	return m, err
}

// member finds a member of the path's organization like memberOf.
func member(ctx context.Context, tx ports.Tx, at Path, name string) (users.Member, error) {
	org, err := tx.Orgs().BySlug(ctx, at.Organization)
	if err != nil {
		return users.Member{}, err
	}
	return memberOf(ctx, tx, org.ID, name)
}

// maxAmbiguous is how many usernames the refusal of an e-mail names at most.
const maxAmbiguous = 20

// memberOf finds a member by username, else by an e-mail that no other member has.
// users.ErrNotFound, users.ErrAmbiguous.
func memberOf(ctx context.Context, tx ports.Tx, org orgs.ID, name string) (users.Member, error) {
	m, err := tx.Users().ByUsername(ctx, org, name)
	if !errors.Is(err, users.ErrNotFound) {
		return m, err
	}
	ms, err := tx.Users().ByEmail(ctx, org, name, maxAmbiguous+1)
	switch {
	case err != nil:
		return users.Member{}, err
	case len(ms) == 0:
		return users.Member{}, users.ErrNotFound
	case len(ms) == 1:
		return ms[0], nil
	}
	return users.Member{}, users.Ambiguous(ms, maxAmbiguous)
}

// changeableMember is member for an API key that changes or removes the member; users.ErrProtected.
func changeableMember(ctx context.Context, tx ports.Tx, at Path, username string) (users.Member, error) {
	m, err := member(ctx, tx, at, username)
	if err != nil {
		return users.Member{}, err
	}
	return m, m.CheckKeyAccess()
}
