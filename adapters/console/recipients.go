package console

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/users"
)

const (
	pageRecipients   = 50
	pageFoundMembers = 10
	entriesOfEach    = 20 // of the users that a search of a list finds
)

// recipientsView is a page of the recipients of a list.
type recipientsView struct {
	Text       string
	Recipients []lists.Recipient
	Next       string // the path of the next page; empty: no more
	First      bool   // the first page
	Back       string // the query of this page
}

// recipientsQuery parses the query of a list's page for recipients.
func (c call) recipientsQuery(id lists.ID) lists.Query {
	q := lists.Query{Text: strings.TrimSpace(c.QueryParam("q")), Limit: pageRecipients, Recipients: entriesOfEach}
	c.console.cursors.open(c.below("d", id), c.QueryParam("after"), &q.After)
	return q
}

// recipientsAfter returns the query for the page after a cursor, as pairs of name and value.
func (c call) recipientsAfter(id lists.ID, text string, after users.Cursor) []string {
	if after.IsZero() {
		return []string{"q", text}
	}
	return []string{"q", text, "after", c.console.cursors.seal(c.below("d", id), after)}
}

func (c call) listRecipients(id lists.ID) (recipientsView, error) {
	q := c.recipientsQuery(id)
	at := func(after users.Cursor) string { return "?" + pairs(c.recipientsAfter(id, q.Text, after)).Encode() }
	v := recipientsView{Text: q.Text, First: q.After.IsZero(), Back: at(q.After)}
	if q.Text == "" {
		found, err := c.console.use.Lists.Recipients(c.ctx, c.at(), id, app.Page{After: q.After.ID, Limit: pageRecipients + 1})
		if err != nil {
			return v, err
		}
		var next channels.AssignmentID
		if v.Recipients, next = paged(found, pageRecipients, func(r lists.Recipient) channels.AssignmentID { return r.ID }); next != 0 {
			v.Next = c.below("d", id) + at(users.Cursor{ID: int64(next)})
		}
		return v, nil
	}
	found, err := c.console.use.Lists.Search(c.ctx, c.at(), id, q)
	if err != nil {
		return v, err
	}
	v.Recipients = found.Recipients
	if found.More {
		v.Next = c.below("d", id) + at(found.Next)
	}
	return v, nil
}

// memberSearchView is a search for members, to add them to a list or to subscribe them.
type memberSearchView struct {
	Prefix   string
	Members  []app.Reachable
	Next     string // the path of the next page; empty: no more
	Searched bool
}

// searchMembers searches for members with the query of a page.
func (c call) searchMembers(page string) (memberSearchView, error) {
	q := users.Query{Text: c.QueryParam("people"), Limit: pageFoundMembers}.Trimmed()
	c.console.cursors.open(page, c.QueryParam("people_after"), &q.After)
	v := memberSearchView{Prefix: q.Text, Searched: q.Text != ""}
	if !v.Searched {
		return v, nil
	}
	found, err := c.console.use.Members.Reachable(c.ctx, c.at(), q)
	if err != nil {
		return v, err
	}
	v.Members = found.Members
	if found.More {
		v.Next = page + "?" + url.Values{"people": {q.Text}, "people_after": {c.console.cursors.seal(page, found.Next)}}.Encode() + "#people"
	}
	return v, nil
}

// addEmails adds e-mail addresses, separated by line breaks, commas, semicolons or spaces.
func (c call) addEmails() error {
	id := web.ID[lists.ID](c, "list")
	emails := strings.FieldsFunc(c.FormValue("emails"), func(r rune) bool { return strings.ContainsRune(",; \t\r\n", r) })
	added, err := c.console.use.Lists.Add(c.ctx, c.actor(), c.at(), id, emails)
	return c.answerForm(err, func(f form) error {
		f.faults = faultsOfElements("emails", emails, f.faults)
		return c.listPage(func(v *listView) { v.Emails = f })
	}, c.below("d", id), "added", "count", strconv.Itoa(len(added)))
}

// faultsOfElements merges the faults of list elements into one field. Each message names the sent
// value.
func faultsOfElements(field string, values []string, faults fault.Fields) fault.Fields {
	var messages []string
	for _, e := range faults {
		i, err := strconv.Atoi(strings.Trim(e.Name, "[]"))
		if err != nil || i >= len(values) {
			continue
		}
		for _, m := range e.Messages {
			if !strings.Contains(m, values[i]) {
				m = values[i] + " " + m
			}
			messages = append(messages, m)
		}
	}
	if messages == nil {
		return faults
	}
	return fault.Fields{{Name: field, Messages: messages}}
}

// addMember adds a found member's e-mail addresses or one of their assignments, depending on the
// button.
func (c call) addMember() error {
	id := web.ID[lists.ID](c, "list")
	count := 0
	var err error
	if c.FormValue("assignment") != "" {
		var added bool
		added, err = c.console.use.Lists.AddAssignment(c.ctx, c.actor(), c.at(), id, channels.AssignmentID(c.selectedID("assignment")))
		if added {
			count = 1
		}
	} else {
		var done app.AddedMembers
		done, err = c.console.use.Lists.AddMembers(c.ctx, c.actor(), c.at(), id, []users.MemberID{users.MemberID(c.selectedID("member"))})
		count = done.Added
		if err == nil && len(done.Without) > 0 {
			return c.listFailed(form{Failed: words.Message(done.Without[0] + " has no e-mail address.")})
		}
	}
	return c.answerForm(err, c.listFailed, c.below("d", id), "added", "count", strconv.Itoa(count), "people", c.FormValue("people"))
}

// removeRecipients removes the selected recipients, or the one whose button was pressed.
func (c call) removeRecipients() error {
	id := web.ID[lists.ID](c, "list")
	sent := c.values("recipient")
	if one := c.values("only"); len(one) > 0 {
		sent = one
	}
	chosen := make([]channels.AssignmentID, 0, len(sent))
	for _, s := range sent {
		chosen = append(chosen, channels.AssignmentID(parseID(s)))
	}
	removed, err := c.console.use.Lists.Remove(c.ctx, c.actor(), c.at(), id, chosen)
	if err != nil {
		return err
	}
	q := c.recipientsQuery(id)
	return c.done(c.below("d", id), "taken-off", append(c.recipientsAfter(id, q.Text, q.After), "count", strconv.Itoa(len(removed)))...)
}
