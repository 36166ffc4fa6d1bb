// Package channels is about channels with their protocol and driver, the address types that they
// accept, the preferred ones, and the assignments that link an address to a channel. It sends
// nothing.
package channels

import (
	"context"
	"slices"
	"time"

	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/names"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
)

// Errors of this package.
var (
	ErrNotFound           = fault.New(fault.NotFound, "the channel does not exist")
	ErrNameTaken          = fault.New(fault.Invalid, "a channel with this name exists there already")
	ErrPreferredTaken     = fault.New(fault.Invalid, "another channel is preferred for this protocol there already")
	ErrInUse              = fault.New(fault.Invalid, "the channel is in use")
	ErrSealed             = fault.New(fault.Unavailable, "the settings of the channel cannot be opened")
	ErrIncompatible       = fault.New(fault.Invalid, "the channel cannot reach addresses of this type")
	ErrAssignmentNotFound = fault.New(fault.NotFound, "the assignment does not exist")
)

type (
	// ID identifies a channel. Identifiers are positive; 0 means "not stored yet".
	ID int64
	// AssignmentID identifies an assignment of an address to a channel.
	AssignmentID int64
)

// Protocol is the kind of message a channel carries.
type Protocol string

// The protocols, each with the one address type it accepts (decisions 5).
const (
	EMAIL     Protocol = "EMAIL"
	SMS       Protocol = "SMS"
	WEBHOOK   Protocol = "WEBHOOK"
	SLACK     Protocol = "SLACK"
	PLAINTEXT Protocol = "PLAINTEXT"
)

var accepts = map[Protocol]users.AddressType{
	EMAIL: users.Email, SMS: users.Phone, WEBHOOK: users.URL, SLACK: users.Generic, PLAINTEXT: users.Generic,
}

// Protocols returns every protocol.
func Protocols() []Protocol { return []Protocol{EMAIL, SMS, WEBHOOK, SLACK, PLAINTEXT} }

// ParseProtocol parses a protocol's name.
func ParseProtocol(field, s string) (Protocol, error) {
	if _, known := accepts[Protocol(s)]; !known {
		return "", fault.Field(field, "must be one of EMAIL, SMS, WEBHOOK, SLACK, PLAINTEXT")
	}
	return Protocol(s), nil
}

// Type returns the type of address that the protocol reaches.
func (p Protocol) Type() users.AddressType { return accepts[p] }

// HasHTML reports whether the protocol's messages have HTML in addition to their text.
func (p Protocol) HasHTML() bool { return p == EMAIL || p == WEBHOOK }

// HasSubject reports whether the protocol's messages show their subject in addition to their text.
func (p Protocol) HasSubject() bool { return p != SMS }

// Accepts reports whether the protocol can reach addresses of this type.
func (p Protocol) Accepts(t users.AddressType) bool {
	accepted, known := accepts[p]
	return known && accepted == t
}

// Channel is a way to send messages. It belongs to an organization, or to one project of it, and
// its name is unique there without regard to case.
type Channel struct {
	ID           ID
	Organization orgs.ID
	Project      orgs.ProjectID // 0: the organization's own
	Name         string
	Protocol     Protocol
	Driver       string
	Settings     Settings
	Preferred    bool
	Active       bool
	// Unrestricted channels may connect to every address in their settings. Others reach public
	// addresses, and those that the installation allows.
	Unrestricted bool
	// Pool is the pool that it is a member of; empty: none.
	Pool string
	// Weight is its share of the pool's messages; 0: it sends only when no other member works.
	Weight int
	// Paused is the end of a pause for which its provider asked, if a worker reads the channel;
	// zero: none.
	Paused time.Time
}

// Same reports whether all settable fields of the channel are unchanged.
func (c Channel) Same(was Channel) bool {
	return c.Protocol == was.Protocol && c.Preferred == was.Preferred && c.Active == was.Active &&
		c.Pool == was.Pool && c.Weight == was.Weight && c.SameProvider(was) && c.Settings.Equal(was.Settings)
}

// SameProvider reports whether the channel still sends to the same provider in the same way,
// whatever its limits: what was learned about it, such as a pause, stays true.
func (c Channel) SameProvider(was Channel) bool {
	return c.Driver == was.Driver && c.Unrestricted == was.Unrestricted && c.Settings.withoutLimits().Equal(was.Settings.withoutLimits())
}

// MaxDriver is the longest name of a driver, in characters.
const MaxDriver = 50

// New checks an operator's input for a channel. A driver's settings are checked by the driver.
func New(name, protocol, driver string) (Channel, error) {
	var faults fault.Fields
	var c Channel
	var err error
	c.Name, err = names.Label("name", name)
	faults.Add("name", err)
	c.Protocol, err = ParseProtocol("protocol", protocol)
	faults.Add("protocol", err)
	c.Driver, err = names.Slug("driver", driver)
	faults.Add("driver", err)
	if len(c.Driver) > MaxDriver {
		faults.Addf("driver", "is longer than %d characters", MaxDriver)
	}
	c.Active, c.Weight = true, DefaultWeight
	return c, faults.Err()
}

// PreferredFor returns the channels for an address of this type when its holder chose none: for
// every protocol that accepts the type, the project's active preferred channel, else the
// organization's (contract 4.4). The channels given are those of one project and its organization.
func PreferredFor(t users.AddressType, project orgs.ProjectID, all []Channel) []Channel {
	best := map[Protocol]Channel{}
	for _, c := range all {
		if !c.Active || !c.Preferred || !c.Protocol.Accepts(t) || (c.Project != 0 && c.Project != project) {
			continue
		}
		if had, ok := best[c.Protocol]; !ok || (had.Project == 0 && c.Project != 0) {
			best[c.Protocol] = c
		}
	}
	found := make([]Channel, 0, len(best))
	for _, c := range best {
		found = append(found, c)
	}
	slices.SortFunc(found, func(a, b Channel) int { return int(a.ID - b.ID) })
	return found
}

// Assignment links an address to a channel. It has the fields of both that answers show.
type Assignment struct {
	ID        AssignmentID
	Address   users.AddressID
	Value     string // of the address
	Channel   ID
	Project   orgs.ProjectID // of the channel; 0: the organization's own
	Name      string         // of the channel
	Protocol  Protocol       // of the channel
	Active    bool
	Validated bool
}

// Assign returns the assignment of an address to a channel as made by registration: active and
// already validated.
func Assign(a users.Address, c Channel) Assignment {
	return Assignment{Address: a.ID, Value: a.Value, Channel: c.ID, Project: c.Project, Name: c.Name, Protocol: c.Protocol,
		Active: true, Validated: true}
}

// InProjectElseOrganization keeps the assignments to channels of a project; if there are none,
// those to channels of the organization (decisions 5, add recipients).
func InProjectElseOrganization(as []Assignment) []Assignment {
	ofProject := slices.ContainsFunc(as, func(a Assignment) bool { return a.Project != 0 })
	return slices.DeleteFunc(slices.Clone(as), func(a Assignment) bool { return (a.Project != 0) != ofProject })
}

// Stale is a channel whose settings are not encrypted under the current key.
type Stale struct {
	ID           ID
	Organization orgs.ID
	Path         string // acme/mail, or acme/shop/mail for a project's channel
	Key          string // id of the key that encrypts the settings; empty: plain text of an earlier version
}

// Repository keeps channels. Settings contain secrets, and so are always stored encrypted, bound to
// their channel, under the installation's current key; they are decrypted with that one or an
// earlier one. ErrSealed names the missing key, or says that the settings were tampered with.
type Repository interface {
	// Find returns the channel of this name in the project (0: none), else in the organization;
	// ErrNotFound, ErrSealed.
	Find(ctx context.Context, org orgs.ID, project orgs.ProjectID, name string) (Channel, error)
	// List returns the channels that belong to the project itself, or with project 0 to the
	// organization itself, by id, at most limit after the given one. Settings are left out.
	List(ctx context.Context, org orgs.ID, project orgs.ProjectID, after ID, limit int) ([]Channel, error)
	// ByID returns a channel of the project (0: of the organization itself); ErrNotFound, and with
	// ErrSealed the channel without its settings.
	ByID(ctx context.Context, org orgs.ID, project orgs.ProjectID, id ID) (Channel, error)
	// Within returns a channel of the organization or of any of its projects without its settings;
	// ErrNotFound.
	Within(ctx context.Context, org orgs.ID, id ID) (Channel, error)
	// OfOrganization returns the channels of the organization and of all its projects by id, at
	// most limit after the given one. Settings are left out.
	OfOrganization(ctx context.Context, org orgs.ID, after ID, limit int) ([]Channel, error)
	// Preferred returns the active preferred channels of the project (0: none) and of the
	// organization. Settings are left out.
	Preferred(ctx context.Context, org orgs.ID, project orgs.ProjectID) ([]Channel, error)
	// Create stores a new channel and returns it with its id; ErrNameTaken, ErrPreferredTaken
	// naming the other, ErrSealed when there is no key.
	Create(ctx context.Context, c Channel) (Channel, error)
	// Save stores everything of c but its organization, project and name; ErrPreferredTaken naming
	// the other, ErrSealed when there is no key.
	Save(ctx context.Context, c Channel) error
	// Delete removes a channel with its outages; ErrInUse, naming its uses: assignments, events,
	// templates, or events that name its pool if it is the last member.
	Delete(ctx context.Context, c Channel) error
	// Failing returns the channels of each of these organizations that do not work, those of its
	// projects included, by id. Each comes once, with its longest outage that has not expired; at
	// most limit of each organization.
	Failing(ctx context.Context, in []orgs.ID, limit int) ([]Failing, error)
	// Conditions returns the conditions of these channels of the organization, or of any of its
	// projects, with the outages that have not expired.
	Conditions(ctx context.Context, org orgs.ID, ids []ID) (map[ID]Condition, error)
	// Members returns the members of the pool of a channel of the organization, or of any of its
	// projects, by id, including itself; none when it has no pool.
	Members(ctx context.Context, org orgs.ID, id ID) ([]Member, error)
	// PoolKept returns ErrInUse, naming the events that name the pool of a channel, if no other
	// channel is a member for them.
	PoolKept(ctx context.Context, c Channel) error
	// ClearOutages removes the outages of a channel on every instance, and what its pool recorded
	// about its quota, because its settings have changed.
	ClearOutages(ctx context.Context, org orgs.ID, id ID) error
	// ClearUsedUp removes what the pool of a channel recorded about its quota, because its limits
	// have changed.
	ClearUsedUp(ctx context.Context, org orgs.ID, id ID) error
	// Stale returns the channels of every organization whose settings are not encrypted under the
	// current key, by id, at most limit after the given one; ErrSealed when there is no key.
	Stale(ctx context.Context, after ID, limit int) ([]Stale, error)
	// Reencrypt encrypts the settings of a channel again, and reports whether they were stale;
	// ErrNotFound, ErrSealed.
	Reencrypt(ctx context.Context, org orgs.ID, id ID) (bool, error)
	// Discard removes the settings of a channel if they cannot be decrypted, and reports whether it
	// did; ErrNotFound, ErrSealed when there is no key.
	Discard(ctx context.Context, org orgs.ID, id ID) (bool, error)
}

// AssignmentRepository keeps assignments.
type AssignmentRepository interface {
	// Find returns an assignment whose channel is the organization's own or the project's;
	// ErrAssignmentNotFound.
	Find(ctx context.Context, org orgs.ID, project orgs.ProjectID, id AssignmentID) (Assignment, error)
	// Ensure adds the assignments that do not exist yet and returns all of them as stored, in the
	// order given, and which of them are new. An existing one is left as it is. The pairs of
	// address and channel are distinct.
	Ensure(ctx context.Context, org orgs.ID, as []Assignment) (stored []Assignment, created []bool, err error)
	// OfMember returns the assignments of all addresses of a member of the organization by id, at
	// most limit.
	OfMember(ctx context.Context, org orgs.ID, m users.MemberID, limit int) ([]Assignment, error)
	// OfMemberByID finds an assignment of an address of a member of the organization;
	// ErrAssignmentNotFound.
	OfMemberByID(ctx context.Context, org orgs.ID, m users.MemberID, id AssignmentID) (Assignment, error)
	// Save stores the flags of an assignment; ErrAssignmentNotFound.
	Save(ctx context.Context, org orgs.ID, a Assignment) error
	// Remove deletes an assignment with its list entries and subscriptions; deliveries that wait
	// for it are skipped. ErrAssignmentNotFound.
	Remove(ctx context.Context, org orgs.ID, a Assignment) error
	// OfAddresses returns the assignments of these addresses to channels of one protocol of the
	// project or of the organization itself, ordered by id.
	OfAddresses(ctx context.Context, org orgs.ID, project orgs.ProjectID, p Protocol, as []users.AddressID) ([]Assignment, error)
}
