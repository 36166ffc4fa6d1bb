package console

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
)

// selectionView is the confirmation page for the removal of members.
type selectionView struct {
	Members []users.Member
	Back    string // the query of the page where they were selected
}

// changeSelection applies the action of the pressed button to the selected members.
func (c call) changeSelection() error {
	ids, err := c.selection()
	if err != nil {
		return err
	}
	use, by, at := c.console.use, c.editor(), c.at()
	var n int
	done := c.FormValue("action")
	switch done {
	case "lock":
		n, err = use.Members.Lock(c.ctx, by, at, ids, true)
	case "unlock":
		n, err = use.Members.Lock(c.ctx, by, at, ids, false)
	case "link":
		n, err = use.Groups.Link(c.ctx, by, at, orgs.GroupID(c.selectedID("group")), ids...)
	case "unlink":
		n, err = use.Groups.Unlink(c.ctx, by, at, orgs.GroupID(c.selectedID("group")), ids...)
	case "list":
		n, err = c.addSelectionToList(ids)
	case "remove":
		found, err := use.Members.Selected(c.ctx, at, ids)
		if err != nil {
			return err
		}
		if err := by.MayChange(found...); err != nil {
			return err
		}
		return c.render(http.StatusOK, "selection-remove", words.Of("Remove users"), selectionView{Members: found, Back: c.FormValue("back")})
	default:
		return errForm
	}
	if err != nil {
		return err
	}
	return c.toSelection(done, n)
}

// addSelectionToList adds the selected members to the list named by its project and id.
func (c call) addSelectionToList(ids []users.MemberID) (int, error) {
	project, number, _ := strings.Cut(c.FormValue("list"), "/")
	id, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return 0, lists.ErrNotFound
	}
	at := app.Path{Organization: c.at().Organization, Project: project}
	done, err := c.console.use.Lists.AddMembers(c.ctx, c.actor(), at, lists.ID(id), ids)
	return done.Added, err
}

func (c call) removeSelection() error {
	ids, err := c.selection()
	if err != nil {
		return err
	}
	if err := c.console.use.Members.Remove(c.ctx, c.editor(), c.at(), ids...); err != nil {
		return err
	}
	return c.toSelection("remove", len(ids))
}

// selection returns the members selected in a form.
func (c call) selection() ([]users.MemberID, error) {
	chosen := c.values("member")
	ids := make([]users.MemberID, len(chosen))
	for i, text := range chosen {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil || id <= 0 {
			return nil, fault.New(fault.Invalid, "a selected user is not valid")
		}
		ids[i] = users.MemberID(id)
	}
	return ids, nil
}

// toSelection redirects to the page on which the members were selected.
func (c call) toSelection(done string, n int) error {
	q, err := url.ParseQuery(c.FormValue("back"))
	if err != nil {
		q = url.Values{}
	}
	q.Set("done", "selected-"+done)
	q.Set("count", strconv.Itoa(n))
	return c.redirect(c.membersPath() + "?" + q.Encode())
}
