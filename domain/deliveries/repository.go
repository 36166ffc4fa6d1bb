package deliveries

import (
	"context"
	"time"

	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/requests"
	"github.com/tocsin/tocsin/domain/subscriptions"
	"github.com/tocsin/tocsin/domain/users"
)

// TriggerRequest is an occurrence to be stored.
type TriggerRequest struct {
	Occurrence events.Occurrence
	Request    *requests.Request // nil: it is not repeatable
	// Refusal is why the occurrence may not be stored; nil when it may. A repeated request is
	// answered nevertheless.
	Refusal error
}

// TriggerResult is the result of a TriggerRequest.
type TriggerResult struct {
	Occurrence events.Occurrence
	Repeated   bool  // the request was seen before: it is the earlier occurrence
	Err        error // nothing was stored: the refusal, or requests.ErrReused
}

// RenderInput is the input of a message except for its recipient. All deliveries of one
// notification of one occurrence through one template share it.
type RenderInput struct {
	Occurrence   events.Occurrence
	Organization orgs.Organization
	Project      orgs.Project
	Application  applications.Application
	Event        events.Event
	Notification subscriptions.Notification
	Channel      channels.Channel // without settings
	Template     events.Template
	Partials     events.Partials // that the template uses, by name
}

// Group is the recipients of one notification on one channel with the same result.
type Group struct {
	Notification subscriptions.NotificationID
	Name         string // of the notification
	Channel      string
	Reason       Reason // empty: they are delivered to
	Recipients   int
	Users        []string // usernames of the first ones that are left out
}

// Forecast is the expected result of an occurrence.
type Forecast struct {
	Groups []Group // per notification, channel and reason
	People int     // members with at least one message
	Jobs   []Job   // samples of the messages: the first of each notification and channel, then the second of each
}

// Candidate is one way by which a notification could reach a member: an assignment, how the
// notification came to it, and the gates.
type Candidate struct {
	Notification       subscriptions.Notification
	ListName           string // of the notification's list; empty: none
	Assignment         channels.Assignment
	AssignmentActive   bool
	OnList             bool
	Subscribed         bool // directly, active or not
	SubscriptionActive bool
	ChosenByOptions    bool   // the occurrence's options do not exclude it
	EventInactive      bool   // the event or its application is inactive
	Covered            bool   // the notification already reaches this address through another assignment
	CoveredBut         Reason // why the other one was skipped when it was to be sent
	Gates              Gates
}

// OptOut records that a recipient wants no more messages of a notification at an address. It
// survives subscribing, registering and being added to a list again.
type OptOut struct {
	Member       users.MemberID
	AddressKey   string // users.Address.Key
	Notification subscriptions.NotificationID
}

// ListedOptOut is an opt-out with its notification.
type ListedOptOut struct {
	OptOut
	Notification subscriptions.Notification
	Application  applications.Application
	Since        time.Time
}

// Unsubscriber is an opt-out as listed.
type Unsubscriber struct {
	OptOut
	Username string
	Since    time.Time
}

// Unsubscription is what the page behind an unsubscribe link shows.
type Unsubscription struct {
	OptOut
	Organization string // by name
	Application  string // by name
	Notification string // by name
	Out          bool   // whether the recipient has unsubscribed

	// For the audit log:
	OrganizationID orgs.ID
	Place          access.Scope // of the application
	Username       string       // of the recipient
}

// Cursor is a position in a listing by address: after the delivery with this key and id. The zero
// Cursor is the beginning.
type Cursor struct {
	Key string
	ID  ID
}

// Repository keeps occurrences and their deliveries, for triggering and for showing them; workers
// use [Queue].
type Repository interface {
	// StoreTime returns a time of this machine's clock by the clock that decides when something is
	// due or has expired.
	StoreTime(ctx context.Context, now time.Time) (time.Time, error)
	// Trigger stores occurrences of one event and returns the result for each, in their order, with
	// the ids of the stored ones. For a request that was seen within requests.Lifetime it stores
	// nothing and returns the earlier occurrence; requests.ErrReused when the digests differ. No
	// two may have the same request. events.ErrNotFound when the event is not one of their
	// application.
	Trigger(ctx context.Context, ts []TriggerRequest) ([]TriggerResult, error)
	// CountRecipients sets the Recipients of those occurrences of one event that are not refused,
	// if CountedNames and CountedEntries allow it: the same number as People of Forecast.
	CountRecipients(ctx context.Context, ts []TriggerRequest) error
	// Unknown returns, for occurrences of one event, the unknown people and channels in the options
	// of each: people who are neither members of the organization nor have an address recorded
	// there, and channels that the event cannot use.
	Unknown(ctx context.Context, os []events.Occurrence) ([]events.Unknown, error)
	// Occurrence finds an occurrence of the application; events.ErrOccurrenceNotFound.
	Occurrence(ctx context.Context, a applications.Application, id events.OccurrenceID) (events.Occurrence, error)
	// ByCorrelation returns the occurrences of the organization with this correlation id, the
	// newest first, after the one whose id the text is: at most limit.
	ByCorrelation(ctx context.Context, org orgs.ID, text string, limit int) ([]events.Occurrence, error)
	// Occurrences returns the occurrences of the application, the newest first: at most limit,
	// older than the one with the id before (0: from the newest on).
	Occurrences(ctx context.Context, a applications.Application, before events.OccurrenceID, limit int) ([]events.Occurrence, error)
	// OccurrencesAfter returns the occurrences of the application in the order of their ids, at
	// most limit after the given one, without large fields: their contexts and the lists of their
	// options.
	OccurrencesAfter(ctx context.Context, a applications.Application, after events.OccurrenceID, limit int) ([]events.Occurrence, error)
	// Select returns the occurrences of the application that match a selection. It reads at most
	// q.Searched of them.
	Select(ctx context.Context, a applications.Application, q Selection) (Selected, error)
	// Locate finds an occurrence of any organization, and where that is, for the operator of the
	// installation; events.ErrOccurrenceNotFound.
	Locate(ctx context.Context, id events.OccurrenceID) (events.Occurrence, access.Scope, error)
	// LocateDelivery finds a delivery of any organization, for the operator of the installation;
	// ErrNotFound.
	LocateDelivery(ctx context.Context, id ID) (Delivery, error)
	// OpenSample returns open deliveries of the occurrence by id: at most limit of the first and
	// limit of the last ones in each state.
	OpenSample(ctx context.Context, o events.Occurrence, limit int) ([]Delivery, error)
	// Counts returns how many deliveries of the occurrence are in each state.
	Counts(ctx context.Context, o events.Occurrence) (map[State]int, error)
	// Recent returns how many deliveries of the occurrence ended lately, by worker; nothing until
	// a second set of outcomes is recorded.
	Recent(ctx context.Context, o events.Occurrence) ([]Throughput, error)
	// CountsOf returns Counts for the occurrences of the application with these ids, without those
	// that have no deliveries.
	CountsOf(ctx context.Context, a applications.Application, ids []events.OccurrenceID) (map[events.OccurrenceID]map[State]int, error)
	// Ahead returns how many messages are currently sent before the next one of the occurrence on a
	// channel: more urgent ones, and those that the rule of turns puts before it. It counts up to
	// most, and reports whether anything of the occurrence waits there for its first attempt.
	Ahead(ctx context.Context, o events.Occurrence, c channels.ID, most int) (ahead int, waits bool, err error)
	// List returns the occurrence's deliveries by id, at most limit after the given one; with a
	// state only those in it.
	List(ctx context.Context, o events.Occurrence, in State, after ID, limit int) ([]Delivery, error)
	// Skipped returns the occurrence's deliveries that were skipped for a reason, by id, at most
	// limit after the given one.
	Skipped(ctx context.Context, o events.Occurrence, why Reason, after ID, limit int) ([]Delivery, error)
	// ByAddress returns the occurrence's deliveries to addresses that begin with a prefix, e-mails
	// without regard to case, at most limit after a cursor, and the cursor of the last: by the form
	// under which addresses are compared, then by id.
	ByAddress(ctx context.Context, o events.Occurrence, prefix string, after Cursor, limit int) ([]Delivery, Cursor, error)
	// Delivery finds a delivery of the occurrence; ErrNotFound.
	Delivery(ctx context.Context, o events.Occurrence, id ID) (Delivery, error)
	// Job is what a worker that claimed this delivery of the occurrence now would be given;
	// ErrNotFound.
	Job(ctx context.Context, o events.Occurrence, id ID) (Job, error)
	// Cancel ends an occurrence: no further recipient is found, what is open is skipped, and what
	// is claimed is not begun, as soon as workers know of it (Queue.Schedule,
	// Queue.Cancelled). It reports false, and does nothing, when the occurrence was cancelled
	// before or has nothing open.
	Cancel(ctx context.Context, o events.Occurrence) (bool, error)
	// Requeue makes the first limit failed deliveries of the occurrence after an id due again, as
	// if they had never been tried, and returns their ids in ascending order.
	Requeue(ctx context.Context, o events.Occurrence, after ID, limit int) ([]ID, error)
	// RequeueByIDs is Requeue for those of these deliveries that have failed.
	RequeueByIDs(ctx context.Context, o events.Occurrence, ids []ID) ([]ID, error)

	// RenderInput is Queue.RenderInput for an occurrence that need not be stored.
	RenderInput(ctx context.Context, o events.Occurrence, n subscriptions.NotificationID, t events.TemplateID) (RenderInput, error)
	// Forecast returns the deliveries that an occurrence, which is not stored, would have, with a
	// limited number of samples of the jobs and of the recipients left out for each reason; samples
	// may be 0. It counts in the database and writes nothing.
	Forecast(ctx context.Context, o events.Occurrence, samples int) (Forecast, error)
	// Candidates returns every way in which the notifications of the occurrence's event could reach
	// the member: each of the member's assignments that is on a notification's list or subscribed
	// to it, in the order in which they are preferred.
	Candidates(ctx context.Context, o events.Occurrence, m users.MemberID) ([]Candidate, error)
	// OfMember returns the deliveries of the occurrence to the member, by id.
	OfMember(ctx context.Context, o events.Occurrence, m users.MemberID) ([]Delivery, error)

	// ToMember returns the deliveries of a query, those of the newest occurrences first; deliveries
	// newer than a cursor come in the opposite order.
	ToMember(ctx context.Context, q MemberQuery) ([]Recent, error)
	// OptOuts returns what a member of the organization has opted out of, by notification and
	// address, at most limit.
	OptOuts(ctx context.Context, org orgs.ID, m users.MemberID, limit int) ([]ListedOptOut, error)

	// Unsubscription describes what an unsubscribe link is about; ErrLinkOutdated when the
	// notification or the member is gone.
	Unsubscription(ctx context.Context, o OptOut) (Unsubscription, error)
	// SetOptOut records or removes an opt-out and reports whether that changed anything.
	SetOptOut(ctx context.Context, o OptOut, out bool) (changed bool, err error)
	// Unsubscribers returns who has opted out of a notification by member and address, at most
	// limit after the given one (zero: from the beginning).
	Unsubscribers(ctx context.Context, n subscriptions.Notification, after OptOut, limit int) ([]Unsubscriber, error)
}
