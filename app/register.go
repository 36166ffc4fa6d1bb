package app

import (
	"context"
	"errors"

	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// MaxRegisteredAddresses is how many addresses one register call takes.
const MaxRegisteredAddresses = 100

// Registration is the payload of register, each value checked by its own constructor.
type Registration struct {
	User         users.User
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

// Registered is what a registration came to. Addresses and Assignments speak of this payload, in its order, new or not.
type Registered struct {
	User            users.User
	Created         bool // the identity is new
	Membership      applications.Membership
	Addresses       []users.Address
	Assignments     []channels.Assignment
	List            *lists.List // nil when none was named
	RecipientsAdded int
	Skipped         []string // addresses that asked for a preferred channel and found none
}

// Register makes a user a member of the application (contract 4.4). The user is found by username and created when missing; an
// existing one is enrolled in the organization but never updated. Everything or nothing is kept.
func (a *Applications) Register(ctx context.Context, at Path, r Registration) (done Registered, err error) {
	wanted := distinct(r.Addresses)
	err = a.store.Update(ctx, func(tx ports.Tx) error {
		done = Registered{}
		app, err := application(ctx, tx, at)
		if err != nil {
			return err
		}
		if r.List != "" {
			if done.List, err = usableList(ctx, tx, app, r.List); err != nil {
				return err
			}
		}
		if done.User, done.Created, err = tx.Users().Ensure(ctx, r.User); err != nil {
			return err
		}
		m, _, err := tx.Users().EnsureMember(ctx, app.Organization, done.User)
		if err != nil {
			return err
		}
		if done.Membership, err = registerMembership(ctx, tx, app, m.ID, r); err != nil {
			return err
		}
		if err := assignAddresses(ctx, tx, app, m.ID, wanted, &done); err != nil {
			return err
		}
		if done.List == nil {
			return nil
		}
		added, err := tx.Lists().Add(ctx, *done.List, assignmentIDs(done.Assignments))
		done.RecipientsAdded = len(added)
		return err
	})
	return done, err
}

// distinct keeps each address value once, in order; it asks for a preferred channel when any mention does.
func distinct(sent []RegisteredAddress) []RegisteredAddress {
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

func registerMembership(ctx context.Context, tx ports.Tx, app applications.Application, m users.MemberID, r Registration) (applications.Membership, error) {
	was, _, err := tx.Applications().Membership(ctx, app, m)
	if err != nil {
		return applications.Membership{}, err
	}
	is, err := was.Register(r.CustomFields, r.Active)
	if err != nil {
		return applications.Membership{}, err
	}
	return is, tx.Applications().SaveMembership(ctx, app, is)
}

// assignAddresses creates the addresses and, where asked for, their assignments to preferred channels.
func assignAddresses(ctx context.Context, tx ports.Tx, app applications.Application, m users.MemberID, wanted []RegisteredAddress, done *Registered) error {
	if len(wanted) == 0 {
		return nil
	}
	values := make([]users.Address, len(wanted))
	asked := false
	for i, w := range wanted {
		values[i] = w.Address
		asked = asked || w.ToPreferred
	}
	var err error
	if done.Addresses, _, err = tx.Addresses().Ensure(ctx, app.Organization, m, values); err != nil || !asked {
		return err
	}
	preferred, err := tx.Channels().Preferred(ctx, app.Organization, app.Project)
	if err != nil {
		return err
	}
	var assignments []channels.Assignment
	for i, w := range wanted {
		if !w.ToPreferred {
			continue
		}
		found := channels.PreferredFor(done.Addresses[i].Type, app.Project, preferred)
		if len(found) == 0 {
			done.Skipped = append(done.Skipped, done.Addresses[i].Value)
		}
		for _, c := range found {
			assignments = append(assignments, channels.Assign(done.Addresses[i], c))
		}
	}
	done.Assignments, err = tx.Assignments().Ensure(ctx, app.Organization, assignments)
	return err
}

func assignmentIDs(as []channels.Assignment) []channels.AssignmentID {
	ids := make([]channels.AssignmentID, len(as))
	for i, a := range as {
		ids[i] = a.ID
	}
	return ids
}
