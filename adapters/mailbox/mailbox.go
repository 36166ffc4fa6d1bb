// Package mailbox stores messages for inspection instead of sending them, for development and
// tests. It knows the store's mailbox and its limits, but not who reads it.
package mailbox

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/ports"
)

// Name is what channels call the driver.
const Name = "mailbox"

// The default and the maximum number of messages that a channel keeps.
const (
	DefaultKeep = 1_000
	MaxKeep     = 100_000
)

// MaxBytes is how many bytes the messages of all channels of an organization take together.
const MaxBytes = 128 << 20

// One message in trimInterval deletes the surplus messages, at most maxTrimmed of them. So each
// message costs little, also after the limit of a channel was lowered.
const (
	maxTrimInterval = 500
	maxTrimmed      = 1_000
)

// Each time the messages of an organization have taken another 1/shrinkShare of MaxBytes, those
// beyond MaxBytes are deleted, at most maxShrunk of them: more than were stored meanwhile. Reading
// the sizes takes time in proportion to the number of messages. Spread over the messages between
// two deletions, each one reads about shrinkShare sizes.
const (
	shrinkShare = 128
	maxShrunk   = 2 * MaxBytes / shrinkShare / deliveries.MailboxOverhead
)

// Driver opens dispatchers that store messages.
type Driver struct {
	store    ports.Store
	maxBytes int64
	usages   sync.Map // by orgs.ID: *usage
}

// usage is what an organization has stored.
type usage struct {
	shrinking sync.Mutex   // held by the message that deletes others, so that no two delete the same
	bytes     atomic.Int64 // stored since the last deletion
}

var (
	_ deliveries.Driver     = (*Driver)(nil)
	_ deliveries.Dispatcher = (*dispatcher)(nil)
)

// New returns the driver for the mailbox in this store.
func New(store ports.Store) *Driver { return &Driver{store: store, maxBytes: MaxBytes} }

// Name is what channels call the driver.
func (*Driver) Name() string { return Name }

// Protocols returns the protocols of the driver: all.
func (*Driver) Protocols() []channels.Protocol { return channels.Protocols() }

// Settings describes the driver's settings.
func (*Driver) Settings() []channels.Setting {
	return []channels.Setting{
		{Name: "keep", Kind: channels.Integer, Default: strconv.Itoa(DefaultKeep), Help: "How many messages the channel keeps, the newest; 1 to 100000. Fewer if those of the organization take more than 128 MiB."},
	}
}

// Check returns what is wrong with a channel.
func (d *Driver) Check(c channels.Channel) error {
	_, err := d.read(c)
	return err
}

// Open returns a dispatcher for a channel.
func (d *Driver) Open(c channels.Channel) (deliveries.Dispatcher, error) {
	keep, err := d.read(c)
	if err != nil {
		return nil, err
	}
	return &dispatcher{driver: d, channel: c, keep: keep, trimInterval: uint64(min(max(keep/10, 1), maxTrimInterval)), usage: d.usage(c.Organization)}, nil
}

// usage returns the usage of an organization. The first message deletes others, because a process
// may send only one.
func (d *Driver) usage(org orgs.ID) *usage {
	full := &usage{}
	full.bytes.Store(d.maxBytes / shrinkShare)
	u, _ := d.usages.LoadOrStore(org, full)
	return u.(*usage)
}

// read returns how many messages a channel keeps; the error names every mistake.
func (d *Driver) read(c channels.Channel) (keep int, err error) {
	r := c.ReadSettings(d.Settings(), d.Protocols()...)
	keep = r.Integer("keep", 1, MaxKeep)
	if keep == 0 {
		keep = DefaultKeep
	}
	return keep, r.Err()
}

// dispatcher keeps the messages of one channel.
type dispatcher struct {
	driver       *Driver
	channel      channels.Channel
	keep         int
	trimInterval uint64
	messages     atomic.Uint64
	usage        *usage // of the organization
}

// Dispatch stores a message. It returns nil when the message is on disk. A repeated message does
// not replace the first one.
func (d *dispatcher) Dispatch(ctx context.Context, m deliveries.Message) error {
	trim := d.messages.Add(1)%d.trimInterval == 1%d.trimInterval // The first message trims, because a process may send only one.
	bytes, err := ports.Update(ctx, d.driver.store, func(tx ports.Tx) (int, error) {
		bytes, err := tx.Mailbox().Keep(ctx, d.channel.Organization, d.channel.ID, m)
		if err == nil && trim {
			_, err = tx.Mailbox().Trim(ctx, d.channel.Organization, d.channel.ID, d.keep, maxTrimmed)
		}
		return bytes, err
	})
	switch {
	case err == nil:
		d.usage.bytes.Add(int64(bytes))
		d.shrink(ctx)
		return nil
	case errors.Is(ctx.Err(), context.Canceled):
		return deliveries.Postponed("given up: %w", context.Cause(ctx))
	}
	failed := deliveries.Unreachable("the message could not be kept")
	failed.Detail = err // Only operators of the installation see the error of the database.
	return failed
}

// Close does nothing: the store belongs to the caller.
func (*dispatcher) Close() error { return nil }

// shrink deletes the oldest messages of the organization if enough were stored since the last time.
// The message is stored already: if the deletion fails, the next message tries it again.
func (d *dispatcher) shrink(ctx context.Context) {
	u, most := d.usage, d.driver.maxBytes
	if u.bytes.Load() < most/shrinkShare || !u.shrinking.TryLock() {
		return
	}
	defer u.shrinking.Unlock()
	stored := u.bytes.Load()
	err := d.driver.store.Update(ctx, func(tx ports.Tx) error {
		_, err := tx.Mailbox().Shrink(ctx, d.channel.Organization, int(most), maxShrunk)
		return err
	})
	if err == nil {
		u.bytes.Add(-stored)
	}
}
