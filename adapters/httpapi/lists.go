package httpapi

import (
	"context"
	"net/http"
	"strconv"

	"github.com/tocsin/tocsin/adapters/httpapi/jsonbody"
	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/lists"
)

// distributionList is a list in responses (contract 2.3).
type distributionList struct {
	ID          lists.ID         `json:"id"`
	Name        string           `json:"name"`
	Members     string           `json:"members"`
	Application *applications.ID `json:"application"`
}

// recipient is a member of a list (contract 2.4).
type recipient lists.Recipient

// added is the response of add.
type added struct {
	Added []string `json:"added"`
}

// recipientBatchSize is how many recipients are fetched at once. Lists may be long, and recipients
// are small.
const recipientBatchSize = 2_000

func (a *API) listLists(c call) error {
	f := c.filters()
	name, pinned := f.equalFold("name"), f.idEquals("application")
	return listing[lists.List]{
		filters: f,
		match:   func(l lists.List) bool { return name(l.Name) && pinned(int64(l.Application)) },
		page:    func(ctx context.Context, p app.Page) ([]lists.List, error) { return a.use.Lists.List(ctx, c.at(), p) },
		id:      func(l lists.List) int64 { return int64(l.ID) },
		row:     func(l lists.List) any { return c.showList(l) },
	}.send(c)
}

func (a *API) createList(c call) error {
	body := c.object()
	wanted, err := lists.New(body.String("name"))
	body.Check(err)
	pinned := pinnedTo(body)
	if err := body.Err(); err != nil {
		return err
	}
	l, err := a.use.Lists.Create(c.ctx, c.actor(), c.at(), wanted, pinned)
	if err != nil {
		return err
	}
	return c.answer(http.StatusCreated, c.showList(l))
}

// pinnedTo reads the application that a list is pinned to; 0 if none was sent.
func pinnedTo(body *jsonbody.Object) applications.ID {
	id, given := body.Integer("application")
	if given && id <= 0 {
		body.Check(lists.ErrApplication.On("application")) // 0 would mean "not pinned" to the use case.
	}
	return applications.ID(id)
}

func (a *API) showList(c call) error {
	list := web.ID[lists.ID](c, "pk")
	l, err := a.use.Lists.Show(c.ctx, c.at(), list)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, c.showList(l))
}

func (a *API) addRecipients(c call) error {
	list := web.ID[lists.ID](c, "pk")
	text, err := c.body()
	if err != nil {
		return err
	}
	emails, err := jsonbody.ParseStrings(text)
	if err != nil {
		return err
	}
	names, err := a.use.Lists.Add(c.ctx, c.actor(), c.at(), list, emails)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, added{append([]string{}, names...)})
}

func (a *API) patchList(c call) error {
	list := web.ID[lists.ID](c, "pk")
	body := c.object()
	body.Only("name", "application")
	name := optionalText(body, "name")
	var pinned *applications.ID
	if body.Has("application") {
		pinned = new(pinnedTo(body)) // null unpins it
	}
	if err := body.Err(); err != nil {
		return err
	}
	l, err := a.use.Lists.Patch(c.ctx, c.actor(), c.at(), list, name, pinned)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, c.showList(l))
}

func (a *API) deleteList(c call) error {
	list := web.ID[lists.ID](c, "pk")
	return c.answerDeleted(a.use.Lists.Delete(c.ctx, c.actor(), c.at(), list))
}

// removed is the response of remove.
type removed struct {
	Removed []string `json:"removed"`
}

func (a *API) removeRecipients(c call) error {
	list := web.ID[lists.ID](c, "pk")
	body := c.object()
	body.Only("recipients")
	wanted := ids[channels.AssignmentID](body, "recipients", lists.MaxAdd)
	if err := body.Err(); err != nil {
		return err
	}
	gone, err := a.use.Lists.Remove(c.ctx, c.actor(), c.at(), list, wanted)
	if err != nil {
		return err
	}
	answer := removed{make([]string, len(gone))}
	for i, r := range gone {
		answer.Removed[i] = r.Address
	}
	return c.answer(http.StatusOK, answer)
}

func (a *API) listRecipients(c call) error {
	list := web.ID[lists.ID](c, "pk")
	f := c.filters()
	user, address, channel, active := f.equalFold("user"), f.equalFold("address"), f.equalFold("channel"), f.active()
	return listing[lists.Recipient]{
		filters: f,
		match: func(r lists.Recipient) bool {
			return user(r.Username) && address(r.Address) && channel(r.Channel) && active(r.Active)
		},
		page: func(ctx context.Context, p app.Page) ([]lists.Recipient, error) {
			return a.use.Lists.Recipients(ctx, c.at(), list, p)
		},
		id:   func(r lists.Recipient) int64 { return int64(r.ID) },
		row:  func(r lists.Recipient) any { return recipient(r) },
		size: recipientBatchSize,
	}.send(c)
}

func (c call) showList(l lists.List) distributionList {
	at := c.at()
	shown := distributionList{
		ID: l.ID, Name: l.Name,
		Members: c.url("api", "o", at.Organization, "p", at.Project, "d", strconv.FormatInt(int64(l.ID), 10), "m"),
	}
	if l.Application != 0 {
		shown.Application = &l.Application
	}
	return shown
}

func (r recipient) appendJSON(b []byte) []byte {
	b = append(b, `{"id":`...)
	b = strconv.AppendInt(b, int64(r.ID), 10)
	b = append(b, `,"address":`...)
	b = appendString(b, r.Address)
	b = append(b, `,"user":`...)
	b = appendString(b, r.Username)
	b = append(b, `,"channel":`...)
	b = appendString(b, r.Channel)
	b = append(b, `,"active":`...)
	b = strconv.AppendBool(b, r.Active)
	return append(b, '}')
}
