package console

import (
	"maps"
	"net/http"

	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
)

const pageMailbox = 50

// mailboxView is a page of the mailbox.
type mailboxView struct {
	app.MailboxPage

	Form form   // the filter
	Next string // the path of the next page; empty: no more
}

// Choices returns the channels that have messages.
func (v mailboxView) Choices() []option {
	all := []option{{"", words.Of("Every channel")}}
	for _, ch := range v.Channels {
		all = append(all, option{formatID(ch.ID), ch.Name})
	}
	return all
}

func (c call) showMailbox() error {
	channel, to := channels.ID(c.number("channel")), c.QueryParam("to")
	v := mailboxView{Form: newForm("to", to)}
	if channel != 0 {
		v.Form.values.Set("channel", formatID(channel))
	}
	var err error
	v.MailboxPage, err = c.console.use.Mailbox.Browse(c.ctx, c.at(), channel, to, deliveries.MailboxID(c.number("before")), pageMailbox+1)
	if f, correctable := c.refused(err); correctable {
		v.Form.faults, v.Form.Failed, err = f.faults, f.Failed, nil
	}
	if err != nil {
		return err
	}
	var last deliveries.MailboxID
	if v.Messages, last = paged(v.Messages, pageMailbox, func(k deliveries.MailboxMessage) deliveries.MailboxID { return k.ID }); last != 0 {
		next := maps.Clone(v.Form.values)
		next.Set("before", formatID(last))
		v.Next = c.below("mailbox") + "?" + next.Encode()
	}
	return c.render(statusOf(v.Form), "mailbox", words.Of("Mailbox"), v)
}

func (c call) clearMailbox() error {
	id := channels.ID(c.selectedID("channel"))
	if id == 0 && c.FormValue("channel") != "" { // Only an empty value means every channel.
		return errForm
	}
	if _, err := c.console.use.Mailbox.ClearChannel(c.ctx, c.actor(), c.at(), id); err != nil {
		return err
	}
	return c.done(c.below("mailbox"), "cleared")
}

// messageView is one message.
type messageView struct {
	deliveries.MailboxMessage

	Here string // the path of the page
}

// Source returns all data of the message except the unsubscribe link, which only the recipient may
// use.
func (v messageView) Source() map[string]any {
	m := v.Message
	return map[string]any{"id": m.ID, "to": m.To, "subject": m.Subject, "text": m.Text, "html": m.HTML, "facts": m.Facts}
}

func (c call) showMessage() error {
	m, err := c.message()
	if err != nil {
		return err
	}
	var title any = m.Message.Subject
	if title == "" {
		title = words.Of("Message %s", formatID(m.ID))
	}
	return c.render(http.StatusOK, "message", title, messageView{m, c.below("mailbox", m.ID)})
}

// showMessageHTML serves the HTML of a message for its frame.
func (c call) showMessageHTML() error {
	m, err := c.message()
	if err != nil {
		return err
	}
	return c.respondSandboxed(m.Message.HTML)
}

func (c call) message() (deliveries.MailboxMessage, error) {
	id := web.ID[deliveries.MailboxID](c, "message")
	return c.console.use.Mailbox.Show(c.ctx, c.at().Organization, id)
}
