package gormstore

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
)

type mailboxRow struct {
	ID             deliveries.MailboxID
	OrganizationID orgs.ID
	ChannelID      channels.ID
	MessageID      string
	Address        string
	AddressKey     string
	Head           string
	Body           string
	Size           int // bytes, with those of the row
	CreatedAt      time.Time
}

func (mailboxRow) TableName() string { return "mailbox_messages" }

// mailboxMessageRow is a message with its channel.
type mailboxMessageRow struct {
	Row      mailboxRow `gorm:"embedded"`
	Channel  string
	Protocol channels.Protocol
}

// mailboxHead is the part of a message that lists show, mailboxBody the rest. They are stored as
// JSON, which escapes characters that Postgres cannot store.
type (
	mailboxHead struct {
		Subject     string            `json:"subject"`
		Unsubscribe string            `json:"unsubscribe"`
		Facts       map[string]string `json:"facts"`
	}
	mailboxBody struct {
		Text string `json:"text"`
		HTML string `json:"html"`
	}
)

func (s mailboxMessageRow) message() (deliveries.MailboxMessage, error) {
	r := s.Row
	var head mailboxHead
	var body mailboxBody
	if err := json.Unmarshal([]byte(r.Head), &head); err != nil {
		return deliveries.MailboxMessage{}, unreadable(err, "head of message %d", r.ID)
	}
	if r.Body != "" { // Lists omit it.
		if err := json.Unmarshal([]byte(r.Body), &body); err != nil {
			return deliveries.MailboxMessage{}, unreadable(err, "body of message %d", r.ID)
		}
	}
	return deliveries.MailboxMessage{ID: r.ID, Channel: s.Channel, Protocol: s.Protocol, Created: r.CreatedAt.UTC(),
		Message: deliveries.Message{ID: r.MessageID, To: r.Address, Subject: head.Subject, Text: body.Text, HTML: body.HTML,
			Unsubscribe: head.Unsubscribe, Facts: head.Facts}}, nil
}

type mailboxRepo struct{ tx }

// mailboxColumns are the columns of a mailboxMessageRow, without the body.
const mailboxColumns = "m.id, m.message_id, m.address, m.head, m.created_at, c.name AS channel, c.protocol"

func (r mailboxRepo) Keep(ctx context.Context, org orgs.ID, channel channels.ID, m deliveries.Message) (int, error) {
	head, err := json.Marshal(mailboxHead{Subject: m.Subject, Unsubscribe: m.Unsubscribe, Facts: m.Facts})
	if err != nil {
		return 0, fmt.Errorf("head of a message: %w", err)
	}
	body, err := json.Marshal(mailboxBody{Text: m.Text, HTML: m.HTML})
	if err != nil {
		return 0, fmt.Errorf("body of a message: %w", err)
	}
	if _, err := one[channelRow](r.db(ctx).Select("id").Where("id = ? AND organization_id = ?", channel, org), channels.ErrNotFound); err != nil {
		return 0, err
	}
	to, _ := users.NewAddress(m.To, "") // An invalid address has a key too. The driver reports it.
	row := mailboxRow{OrganizationID: org, ChannelID: channel, MessageID: storable(m.ID), Address: storable(m.To), AddressKey: storable(to.Key()),
		Head: string(head), Body: string(body), CreatedAt: r.now()}
	row.Size = deliveries.MailboxOverhead + len(row.MessageID) + 2*len(row.Address) + len(row.Head) + len(row.Body)
	created, err := insert(r.db(ctx), &row)
	if err != nil || !created {
		return 0, err
	}
	return row.Size, nil
}

// Trim finds the oldest message to keep in an index, and reads only entries of the channel.
func (r mailboxRepo) Trim(ctx context.Context, org orgs.ID, channel channels.ID, newest, limit int) (int, error) {
	return affected(r.db(ctx).Exec(`DELETE FROM mailbox_messages WHERE id IN (
		SELECT id FROM mailbox_messages WHERE channel_id = ? AND organization_id = ?
		AND id <= (SELECT id FROM mailbox_messages WHERE channel_id = ? ORDER BY id DESC LIMIT 1 OFFSET ?)
		ORDER BY id LIMIT ?)`, channel, org, channel, newest, limit))
}

// Shrink adds up the sizes of the newest messages in an index. It reads at most as many as can fit:
// each takes deliveries.MailboxOverhead or more.
func (r mailboxRepo) Shrink(ctx context.Context, org orgs.ID, bytes, limit int) (int, error) {
	return affected(r.db(ctx).Exec(`DELETE FROM mailbox_messages WHERE id IN (
		SELECT id FROM mailbox_messages WHERE organization_id = ? AND id <= (SELECT MAX(id) FROM (
			SELECT id, SUM(size) OVER (ORDER BY id DESC ROWS UNBOUNDED PRECEDING) AS total FROM mailbox_messages
			WHERE organization_id = ? ORDER BY id DESC LIMIT ?) AS newest WHERE total > ?)
		AND id < (SELECT id FROM mailbox_messages WHERE organization_id = ? ORDER BY id DESC LIMIT 1)
		ORDER BY id LIMIT ?`+r.dialect.skipLocked()+")", org, org, bytes/deliveries.MailboxOverhead+1, bytes, org, limit))
}

func (r mailboxRepo) List(ctx context.Context, org orgs.ID, f deliveries.MailboxFilter) ([]deliveries.MailboxMessage, error) {
	q := r.db(ctx).Table("mailbox_messages AS m").Joins("JOIN channels c ON c.id = m.channel_id").
		Select(mailboxColumns).Where("m.organization_id = ?", org)
	if f.Channel != 0 {
		q = q.Where("m.channel_id = ?", f.Channel)
	}
	if f.AddressKey != "" {
		q = q.Where("m.address_key = ?", f.AddressKey)
	}
	if f.Before != 0 {
		q = q.Where("m.id < ?", f.Before)
	}
	return decodeAll(q.Order("m.id DESC").Limit(f.Limit), mailboxMessageRow.message)
}

// Channels looks up the first message of each channel of the organization in an index.
func (r mailboxRepo) Channels(ctx context.Context, org orgs.ID, limit int) ([]channels.Channel, error) {
	return all(r.db(ctx).Omit("settings").Where("organization_id = ? AND EXISTS (SELECT 1 FROM mailbox_messages m WHERE m.channel_id = channels.id)", org).
		Order("id").Limit(limit), channelRow.channel)
}

func (r mailboxRepo) Find(ctx context.Context, org orgs.ID, id deliveries.MailboxID) (deliveries.MailboxMessage, error) {
	return decodeOne(r.db(ctx).Raw("SELECT "+mailboxColumns+`, m.body
		FROM mailbox_messages m JOIN channels c ON c.id = m.channel_id WHERE m.id = ? AND m.organization_id = ?`, id, org),
		deliveries.ErrMessageNotFound, mailboxMessageRow.message)
}

func (r mailboxRepo) Clear(ctx context.Context, org orgs.ID, channel channels.ID, limit int) (int, error) {
	q := r.db(ctx).Table("mailbox_messages").Select("id").Where("organization_id = ?", org)
	if channel != 0 {
		q = q.Where("channel_id = ?", channel)
	}
	return affected(r.db(ctx).Exec("DELETE FROM mailbox_messages WHERE id IN (?)", q.Order("id").Limit(limit)))
}
