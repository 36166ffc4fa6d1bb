package console

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/operators"
)

const pageMailbox = 50

// mailboxRoutes are the routes of what channels with the driver mailbox have kept.
func mailboxRoutes(org string) []Route {
	const get, post = http.MethodGet, http.MethodPost
	box := org + "mailbox/"
	return []Route{
		{get, box, operators.Viewer, call.showMailbox},
		{post, box + "clear/", operators.Administrator, call.clearMailbox},
		{get, box + "{message}/", operators.Viewer, call.showKept},
		{get, box + "{message}/html/", operators.Viewer, call.showKeptHTML},
	}
}

// mailboxView is a page of the mailbox.
type mailboxView struct {
	app.Kept

	Form form   // the filter
	Next string // the path of the next page; empty: no more
}

// Choices are the channels that have messages.
func (v mailboxView) Choices() []option {
	all := []option{{"", "Every channel"}}
	for _, ch := range v.Channels {
		all = append(all, option{fmt.Sprint(ch.ID), ch.Name})
	}
	return all
}

func (c call) showMailbox() error {
	channel, to := c.number("channel"), c.QueryParam("to")
	v := mailboxView{Form: filled("to", to)}
	status := http.StatusOK
	if channel != 0 {
		v.Form.values.Set("channel", strconv.FormatInt(channel, 10))
	}
	var err error
	v.Kept, err = c.console.use.Mailbox.Browse(c.ctx, c.at(), channels.ID(channel), to, deliveries.KeptID(c.number("before")), pageMailbox+1)
	if f, mendable := c.refused(err); mendable {
		v.Form.faults, v.Form.Failed = f.faults, f.Failed
		status, err = web.Status(fault.Invalid), nil
	}
	if err != nil {
		return err
	}
	if len(v.Messages) > pageMailbox {
		v.Messages = v.Messages[:pageMailbox]
		next := url.Values{"to": {to}, "before": {fmt.Sprint(v.Messages[pageMailbox-1].ID)}}
		if channel != 0 {
			next.Set("channel", strconv.FormatInt(channel, 10))
		}
		v.Next = c.mailboxPath() + "?" + next.Encode()
	}
	return c.render(status, "mailbox", "Mailbox", v)
}

func (c call) clearMailbox() error {
	var id int64
	if sent := c.FormValue("channel"); sent != "" {
		if _, err := fmt.Sscan(sent, &id); err != nil || id <= 0 { // Nothing but the empty choice stands for every channel.
			return errForm
		}
	}
	if _, err := c.console.use.Mailbox.ClearChannel(c.ctx, c.actor(), c.at(), channels.ID(id)); err != nil {
		return err
	}
	return c.to(c.mailboxPath() + "?done=cleared")
}

// keptView is one message.
type keptView struct {
	deliveries.Kept

	Here string // the path of the page
}

// Source is everything of the message but its link to unsubscribe, which is the recipient's alone.
func (v keptView) Source() map[string]any {
	m := v.Message
	return map[string]any{"id": m.ID, "to": m.To, "subject": m.Subject, "text": m.Text, "html": m.HTML, "facts": m.Facts}
}

func (c call) showKept() error {
	kept, err := c.kept()
	if err != nil {
		return err
	}
	title := kept.Message.Subject
	if title == "" {
		title = fmt.Sprintf("Message %d", kept.ID)
	}
	return c.render(http.StatusOK, "message", title, keptView{kept, c.mailboxPath() + web.Join(fmt.Sprint(kept.ID))})
}

// showKeptHTML is the document in the frame of a message.
func (c call) showKeptHTML() error {
	kept, err := c.kept()
	if err != nil {
		return err
	}
	return c.foreign(kept.Message.HTML)
}

func (c call) kept() (deliveries.Kept, error) {
	id, err := web.ID[deliveries.KeptID](c, "message")
	if err != nil {
		return deliveries.Kept{}, err
	}
	return c.console.use.Mailbox.Show(c.ctx, c.at().Organization, id)
}

func (c call) mailboxPath() string {
	return c.path(Prefix) + web.Join("o", c.at().Organization, "mailbox")
}
