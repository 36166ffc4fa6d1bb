package app

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/names"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// MaxRegisteredAddresses is how many addresses one register call takes.
const MaxRegisteredAddresses = 100

// Registration is the payload of register, each value checked by its own constructor.
type Registration struct {
	User         users.User
	Details      users.Details // recorded when this call makes the user a member of the organization
	CustomFields metadata.Map
	Active       bool
	Addresses    []RegisteredAddress
	List         string // name of a distribution list; empty: none
}

// RegisteredAddress is an address of a registration.
type RegisteredAddress struct {
	Address     users.Address
	ToPreferred bool // assign_to_preferred_channel
}

// Registered is the result of a registration. Addresses and Assignments are those of this payload,
// in its order, new or not.
type Registered struct {
	Member          users.Member // with the data of the organization
	Created         bool         // the identity is new
	Membership      applications.Membership
	Addresses       []users.Address
	Assignments     []channels.Assignment
	List            *lists.List // nil when none was named
	RecipientsAdded int
	Skipped         []string // addresses that asked for a preferred channel when there was none
}

// Register makes a user a member of the application (contract 4.4). The user is found by username
// and created when missing. A user who is not a member of the organization yet is enrolled with the
// sent details; an existing member is never updated. Everything or nothing is stored. Concurrent
// calls are stored together.
func (a *Applications) Register(ctx context.Context, by audit.Actor, at Path, r Registration) (Registered, error) {
	return a.registerAs(ctx, operators.Editor{Actor: by, Level: operators.Installation}, at, r) // An application is never below a member's role.
}

// RegisterByHand is Register by an operator, who may not change what an application records about
// members with a higher role. operators.ErrHigherRole.
func (a *Applications) RegisterByHand(ctx context.Context, by operators.Editor, at Path, r Registration) (Registered, error) {
	return a.registerAs(ctx, by, at, r)
}

func (a *Applications) registerAs(ctx context.Context, by operators.Editor, at Path, r Registration) (Registered, error) {
	c := &registerCall{Registration: r, by: by, wanted: distinctAddresses(r.Addresses)}
	if err := a.registrations.Do(ctx, at, c); err != nil {
		return Registered{}, err
	}
	return c.done, c.refused
}

// registerCall is a call of Register under way.
type registerCall struct {
	Registration
	by      operators.Editor
	wanted  []RegisteredAddress
	done    Registered
	changes registrationChanges
	refused error // nothing is stored for this call
}

// username returns the form by which two calls are about the same user.
func (c *registerCall) username() string { return names.Fold(c.User.Username) }

// register runs several calls for one application, about different users, in one unit of work.
func (a *Applications) register(ctx context.Context, at Path, calls []*registerCall) error {
	return changeAt(ctx, a.store, at, application, func(tx ports.Tx, app applications.Application) error {
		for _, c := range calls {
			c.done, c.changes, c.refused = Registered{}, registrationChanges{}, nil
		}
		s := registerBatch{tx: tx, at: at, app: app}
		if err := s.findLists(ctx, calls); err != nil {
			return err
		}
		refused := func(c *registerCall) bool { return c.refused != nil }
		for _, step := range []func(context.Context, []*registerCall) error{s.addMembers, s.join, s.addAddresses, s.assign, s.list, s.record} {
			if err := step(ctx, slices.DeleteFunc(slices.Clone(calls), refused)); err != nil {
				return err
			}
		}
		return nil
	})
}

// distinctAddresses keeps each address value once, in order; it asks for a preferred channel if any
// of its duplicates does.
func distinctAddresses(sent []RegisteredAddress) []RegisteredAddress {
	var kept []RegisteredAddress
	at := map[string]int{}
	for _, s := range sent {
		key := s.Address.Key()
		if i, repeated := at[key]; repeated {
			kept[i].ToPreferred = kept[i].ToPreferred || s.ToPreferred
			continue
		}
		at[key] = len(kept)
		kept = append(kept, s)
	}
	return kept
}

// registerBatch are the steps of a registration, each for all calls of a set.
type registerBatch struct {
	tx  ports.Tx
	at  Path
	app applications.Application
}

// findLists finds the named lists and refuses the calls that name one they may not use.
func (s registerBatch) findLists(ctx context.Context, calls []*registerCall) error {
	found := map[string]*lists.List{}
	for _, c := range calls {
		if c.List == "" {
			continue
		}
		l, known := found[c.List]
		if !known {
			var err error
			if l, err = usableList(ctx, s.tx, s.app, c.List); err != nil {
				if _, said := errors.AsType[*fault.Error](err); !said {
					return err
				}
				c.refused = err
				continue
			}
			found[c.List] = l
		}
		c.done.List = l
	}
	return nil
}

func usableList(ctx context.Context, tx ports.Tx, app applications.Application, name string) (*lists.List, error) {
	l, err := tx.Lists().ByName(ctx, app.Organization, app.Project, name)
	if errors.Is(err, lists.ErrNotFound) {
		return nil, lists.ErrUnknown.On("distribution_list")
	}
	if err != nil {
		return nil, err
	}
	if !l.Serves(app.ID) {
		return nil, lists.ErrPinned.On("distribution_list")
	}
	return &l, nil
}

// addMembers makes all users members of the organization, and refuses the calls about existing
// members who may not be changed.
func (s registerBatch) addMembers(ctx context.Context, calls []*registerCall) error {
	wanted := make([]users.User, len(calls))
	for i, c := range calls {
		wanted[i] = c.User
	}
	found, created, err := s.tx.Users().Ensure(ctx, wanted)
	if err != nil {
		return err
	}
	members := make([]users.Member, len(calls))
	for i, c := range calls {
		members[i] = users.Member{User: users.User{ID: found[i].ID, Username: c.User.Username}, Details: c.Details}
	}
	ms, enrolled, err := s.tx.Users().EnsureMembers(ctx, s.app.Organization, members)
	if err != nil {
		return err
	}
	for i, c := range calls {
		c.done.Member, c.done.Created, c.changes.enrolled = ms[i], created[i], enrolled[i]
		c.refused = c.by.MayChange(ms[i])
	}
	return nil
}

// join makes all users members of the application.
func (s registerBatch) join(ctx context.Context, calls []*registerCall) error {
	members := make([]users.MemberID, len(calls))
	for i, c := range calls {
		members[i] = c.done.Member.ID
	}
	were, existed, err := s.tx.Applications().Memberships(ctx, s.app, members)
	if err != nil {
		return err
	}
	var changed []applications.Membership
	for i, c := range calls {
		is, err := were[i].Register(c.CustomFields, c.Active)
		if err != nil {
			return err
		}
		if !existed[i] || is.Active != were[i].Active || !is.CustomFields.Equal(were[i].CustomFields) {
			changed = append(changed, is)
			c.changes.joined, c.changes.membership = !existed[i], true
		}
		c.changes.was = were[i]
		c.done.Membership = is
	}
	return s.tx.Applications().SaveMemberships(ctx, s.app, changed)
}

// addAddresses gives all users the addresses that were sent.
func (s registerBatch) addAddresses(ctx context.Context, calls []*registerCall) error {
	var values []users.Address
	for _, c := range calls {
		for _, w := range c.wanted {
			w.Address.Member = c.done.Member.ID
			values = append(values, w.Address)
		}
	}
	stored, created, err := s.tx.Addresses().Ensure(ctx, s.app.Organization, values)
	if err != nil {
		return err
	}
	for _, c := range calls {
		n := len(c.wanted)
		for i, a := range stored[:n] {
			if created[i] {
				c.changes.addresses = append(c.changes.addresses, a.Value)
			}
		}
		c.done.Addresses, stored, created = stored[:n:n], stored[n:], created[n:]
	}
	return nil
}

// assign assigns the addresses that ask for it to preferred channels.
func (s registerBatch) assign(ctx context.Context, calls []*registerCall) error {
	asks := func(w RegisteredAddress) bool { return w.ToPreferred }
	if !slices.ContainsFunc(calls, func(c *registerCall) bool { return slices.ContainsFunc(c.wanted, asks) }) {
		return nil
	}
	preferred, err := s.tx.Channels().Preferred(ctx, s.app.Organization, s.app.Project)
	if err != nil {
		return err
	}
	var wanted []channels.Assignment
	counts := make([]int, len(calls))
	for n, c := range calls {
		for i, w := range c.wanted {
			if !w.ToPreferred {
				continue
			}
			found := channels.PreferredFor(c.done.Addresses[i].Type, s.app.Project, preferred)
			if len(found) == 0 {
				c.done.Skipped = append(c.done.Skipped, c.done.Addresses[i].Value)
			}
			for _, channel := range found {
				wanted = append(wanted, channels.Assign(c.done.Addresses[i], channel))
			}
			counts[n] += len(found)
		}
	}
	stored, created, err := s.tx.Assignments().Ensure(ctx, s.app.Organization, wanted)
	if err != nil {
		return err
	}
	for n, c := range calls {
		c.changes.assigned = newlyAssigned(stored[:counts[n]], created)
		c.done.Assignments, stored, created = stored[:counts[n]:counts[n]], stored[counts[n]:], created[counts[n]:]
	}
	return nil
}

// list adds the assignments to the named lists.
func (s registerBatch) list(ctx context.Context, calls []*registerCall) error {
	wanted := map[lists.List][]*registerCall{}
	for _, c := range calls {
		if c.done.List != nil && len(c.done.Assignments) > 0 {
			wanted[*c.done.List] = append(wanted[*c.done.List], c)
		}
	}
	for _, l := range slices.SortedFunc(maps.Keys(wanted), func(a, b lists.List) int { return cmp.Compare(a.ID, b.ID) }) {
		var ids []channels.AssignmentID
		for _, c := range wanted[l] {
			ids = append(ids, assignmentIDs(c.done.Assignments)...)
		}
		added, err := s.tx.Lists().Add(ctx, l, ids)
		if err != nil {
			return err
		}
		isNew := make(map[channels.AssignmentID]bool, len(added))
		for _, id := range added {
			isNew[id] = true
		}
		for _, c := range wanted[l] {
			for _, a := range c.done.Assignments {
				if isNew[a.ID] {
					c.done.RecipientsAdded++
				}
			}
		}
	}
	return nil
}
