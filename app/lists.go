package app

import (
	"context"
	"errors"
	"strconv"

	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/quotas"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// Lists is the use cases on distribution lists (contract 4.2).
type Lists struct {
	store  ports.Store
	limits *quotas.Defaults
}

// NewLists returns the use cases on distribution lists. limits are for organizations without limits
// of their own.
func NewLists(store ports.Store, limits *quotas.Defaults) *Lists {
	return &Lists{store: store, limits: limits}
}

// List returns the project's lists; orgs.ErrNotFound, orgs.ErrProjectNotFound.
func (l *Lists) List(ctx context.Context, at Path, p Page) ([]lists.List, error) {
	return viewAt(ctx, l.store, at, project, func(tx ports.Tx, project orgs.Project) ([]lists.List, error) {
		return tx.Lists().List(ctx, project.Organization, project.ID, lists.ID(p.After), p.Limit)
	})
}

// Create stores a new list, pinned to an application of the project or (0) to none;
// lists.ErrNameTaken, lists.ErrApplication, *quotas.Exceeded.
func (l *Lists) Create(
	ctx context.Context, by audit.Actor, at Path, list lists.List, pinned applications.ID,
) (lists.List, error) {
	return updateAt(ctx, l.store, at, project, func(tx ports.Tx, project orgs.Project) (created lists.List, err error) {
		slug := ""
		if pinned != 0 {
			a, err := tx.Applications().ByID(ctx, project.Organization, project.ID, pinned)
			if errors.Is(err, applications.ErrNotFound) {
				return created, lists.ErrApplication.On("application")
			}
			if err != nil {
				return created, err
			}
			slug = a.Slug
		}
		list.Organization, list.Project, list.Application = project.Organization, project.ID, pinned
		return createList(ctx, tx, by, l.limits, at, list, slug)
	})
}

// createList stores a new list, pinned to the application with this slug or to none;
// lists.ErrNameTaken, *quotas.Exceeded.
func createList(
	ctx context.Context, tx ports.Tx, by audit.Actor, limits *quotas.Defaults, at Path, list lists.List, pinned string,
) (lists.List, error) {
	made, err := tx.Lists().Create(ctx, list)
	if err != nil {
		return made, fieldOf("name", lists.ErrNameTaken, err)
	}
	if err := WithinQuota(ctx, tx, limits, made.Organization, quotas.Lists); err != nil {
		return made, err
	}
	return made, record(ctx, tx, by, made.Organization, audit.ListCreated, listPath(at, made), nil, listState(made.Name, pinned))
}

// Show returns a list of the project; lists.ErrNotFound.
func (l *Lists) Show(ctx context.Context, at Path, id lists.ID) (lists.List, error) {
	return ports.View(ctx, l.store, func(tx ports.Tx) (lists.List, error) {
		return list(ctx, tx, at, id)
	})
}

// Recipients returns the members of a list.
func (l *Lists) Recipients(ctx context.Context, at Path, id lists.ID, p Page) ([]lists.Recipient, error) {
	return viewAt(ctx, l.store, at, bind(list, id), func(tx ports.Tx, list lists.List) ([]lists.Recipient, error) {
		return tx.Lists().Recipients(ctx, list, channels.AssignmentID(p.After), p.Limit)
	})
}

// Add puts e-mail addresses on a list and returns those that were not on it. Each must be recorded
// in the organization; otherwise the error names all unknown ones and nothing is added.
func (l *Lists) Add(ctx context.Context, by audit.Actor, at Path, id lists.ID, emails []string) (added []string, err error) {
	wanted, err := distinctEmails(emails)
	if err != nil {
		return nil, err
	}
	return updateAt(ctx, l.store, at, bind(list, id), func(tx ports.Tx, list lists.List) (added []string, err error) {
		holders, err := tx.Addresses().Holders(ctx, list.Organization, wanted.keys, lists.MaxHolders+1)
		if err != nil {
			return added, err
		}
		if len(holders) > lists.MaxHolders {
			return added, tooManyHolders()
		}
		if err := wanted.checkKnown(holders); err != nil {
			return added, err
		}
		assignments, made, err := assignmentsFor(ctx, tx, list, holders)
		if err != nil {
			return added, err
		}
		fresh, err := tx.Lists().Add(ctx, list, assignmentIDs(assignments))
		if err != nil {
			return added, err
		}
		added = wanted.added(holders, assignments, fresh)
		return added, recordAdded(ctx, tx, by, at, list, added, made)
	})
}

// tooManyHolders refuses a call that would put more than lists.MaxHolders addresses on a list.
func tooManyHolders() error {
	return fault.New(fault.Invalid, "more than "+strconv.Itoa(lists.MaxHolders)+" addresses of users are meant: add fewer at once")
}

// recipients are the addresses of an Add call: each once, by its key and as it was first spelled.
type recipients struct {
	keys     []string
	spelling []string
	position []int // in the call
}

func distinctEmails(emails []string) (recipients, error) {
	var faults fault.Fields
	var r recipients
	if len(emails) == 0 || len(emails) > lists.MaxAdd {
		return r, fault.New(fault.Invalid, "the body must be an array of 1 to "+strconv.Itoa(lists.MaxAdd)+" e-mail addresses")
	}
	seen := make(map[string]bool, len(emails))
	for i, raw := range emails {
		email, err := users.ParseEmail("", raw)
		if err != nil {
			faults.Append(element(i), "%s", fault.Reason(err))
			continue
		}
		key := users.NewEmailAddress(email).Key()
		if seen[key] {
			continue
		}
		seen[key] = true
		r.keys = append(r.keys, key)
		r.spelling = append(r.spelling, email)
		r.position = append(r.position, i)
	}
	return r, faults.Err()
}

func element(i int) string { return "[" + strconv.Itoa(i) + "]" }

func (r recipients) checkKnown(holders []users.Address) error {
	known := make(map[string]bool, len(holders))
	for _, h := range holders {
		known[h.Key()] = true
	}
	var faults fault.Fields
	for i, key := range r.keys {
		if !known[key] {
			faults.AppendAs(events.ErrUnknownRecipient, element(r.position[i]), "no user of this organization has the address %s", r.spelling[i])
		}
	}
	return faults.Err()
}

// assignmentsFor returns the assignments by which a list reaches e-mail addresses: those to EMAIL
// channels of the list's project, if there are none those of the organization, and if there are
// none at all a new one to the preferred EMAIL channel. The new ones are also returned separately.
func assignmentsFor(ctx context.Context, tx ports.Tx, list lists.List, holders []users.Address) (found, made []channels.Assignment, err error) {
	ids := make([]users.AddressID, len(holders))
	for i, h := range holders {
		ids[i] = h.ID
	}
	existing, err := tx.Assignments().OfAddresses(ctx, list.Organization, list.Project, channels.EMAIL, ids)
	if err != nil {
		return nil, nil, err
	}
	of := make(map[users.AddressID][]channels.Assignment, len(holders))
	for _, a := range existing {
		of[a.Address] = append(of[a.Address], a)
	}
	var unassigned []users.Address
	for _, h := range holders {
		if len(of[h.ID]) == 0 {
			unassigned = append(unassigned, h)
			continue
		}
		found = append(found, channels.InProjectElseOrganization(of[h.ID])...)
	}
	if len(unassigned) == 0 {
		return found, nil, nil
	}
	made, err = assignToPreferred(ctx, tx, list, unassigned)
	return append(found, made...), made, err
}

// assignToPreferred assigns addresses that have no assignment to an EMAIL channel that the list
// could use.
func assignToPreferred(ctx context.Context, tx ports.Tx, list lists.List, emails []users.Address) ([]channels.Assignment, error) {
	preferred, err := tx.Channels().Preferred(ctx, list.Organization, list.Project)
	if err != nil {
		return nil, err
	}
	by := channels.PreferredFor(users.Email, list.Project, preferred)
	if len(by) == 0 {
		return nil, lists.ErrNoChannel
	}
	wanted := make([]channels.Assignment, len(emails))
	for i, e := range emails {
		wanted[i] = channels.Assign(e, by[0])
	}
	made, _, err := tx.Assignments().Ensure(ctx, list.Organization, wanted)
	return made, err
}

// added returns, in the order of the call, the addresses with at least one assignment that is new
// on the list.
func (r recipients) added(holders []users.Address, assignments []channels.Assignment, fresh []channels.AssignmentID) []string {
	isFresh := make(map[channels.AssignmentID]bool, len(fresh))
	for _, id := range fresh {
		isFresh[id] = true
	}
	gained := make(map[users.AddressID]bool, len(fresh))
	for _, a := range assignments {
		gained[a.Address] = gained[a.Address] || isFresh[a.ID]
	}
	keys := make(map[string]bool, len(fresh))
	for _, h := range holders {
		if gained[h.ID] {
			keys[h.Key()] = true
		}
	}
	added := make([]string, 0, len(keys))
	for i, key := range r.keys {
		if keys[key] {
			added = append(added, r.spelling[i])
		}
	}
	return added
}

func assignmentIDs(as []channels.Assignment) []channels.AssignmentID {
	ids := make([]channels.AssignmentID, len(as))
	for i, a := range as {
		ids[i] = a.ID
	}
	return ids
}

// listPath returns the name of a list in the audit log.
func listPath(at Path, l lists.List) string {
	return Path{Organization: at.Organization, Project: at.Project}.Object("d", l.Name)
}

func list(ctx context.Context, tx ports.Tx, at Path, id lists.ID) (lists.List, error) {
	project, err := tx.Orgs().Project(ctx, at.Organization, at.Project)
	if err != nil {
		return lists.List{}, err
	}
	return tx.Lists().ByID(ctx, project.Organization, project.ID, id)
}
