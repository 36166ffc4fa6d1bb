package deliveries

import (
	"context"
	"time"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/orgs"
)

// ErrMessageNotFound says that a message is not in the mailbox.
var ErrMessageNotFound = fault.New(fault.NotFound, "the message is not in the mailbox")

// MailboxID identifies a message in the mailbox. It is positive, and a later message has a greater
// one.
type MailboxID int64

// MailboxMessage is a message that a channel stored for inspection instead of sending it.
type MailboxMessage struct {
	ID       MailboxID
	Channel  string // its name
	Protocol channels.Protocol
	Message  Message
	Created  time.Time
}

// MailboxFilter narrows a listing of the mailbox.
type MailboxFilter struct {
	Channel    channels.ID // 0: every channel
	AddressKey string      // users.Address.Key of the recipient; empty: all recipients
	Before     MailboxID   // only messages stored before this one; 0: from the newest
	Limit      int
}

// MailboxOverhead is how many bytes a message in the mailbox takes besides its texts, with its
// entries in indexes. It is an estimate.
const MailboxOverhead = 1 << 10

// MailboxRepository stores messages for inspection. Every method stays inside its organization, and
// a channel's messages are deleted with it.
type MailboxRepository interface {
	// Keep stores a message of a channel and returns how many bytes it takes, at least
	// MailboxOverhead. It returns 0 if the message is not new: of several with one Message.ID the
	// channel keeps the first. Texts may contain any characters; bytes that are not UTF-8 are
	// replaced. channels.ErrNotFound.
	Keep(ctx context.Context, org orgs.ID, channel channels.ID, m Message) (bytes int, err error)
	// Trim deletes messages older than the newest ones of a channel, at most limit of them, the
	// oldest first, and returns how many it deleted.
	Trim(ctx context.Context, org orgs.ID, channel channels.ID, newest, limit int) (int, error)
	// Shrink deletes messages older than the newest ones of an organization that take the given
	// bytes together, at most limit of them, the oldest first, and returns how many it deleted. It
	// never deletes the newest message of the organization.
	Shrink(ctx context.Context, org orgs.ID, bytes, limit int) (int, error)
	// List returns messages, the newest first, without their Text and HTML.
	List(ctx context.Context, org orgs.ID, f MailboxFilter) ([]MailboxMessage, error)
	// Find returns a message with its texts; ErrMessageNotFound.
	Find(ctx context.Context, org orgs.ID, id MailboxID) (MailboxMessage, error)
	// Channels returns the channels that have messages by id, at most limit, without settings.
	Channels(ctx context.Context, org orgs.ID, limit int) ([]channels.Channel, error)
	// Clear deletes messages of a channel, or with channel 0 of all, at most limit, and returns how
	// many it deleted.
	Clear(ctx context.Context, org orgs.ID, channel channels.ID, limit int) (int, error)
}
