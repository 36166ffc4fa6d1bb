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

// keepingSelection shows the page of the members again when handle refuses, with the same ones
// selected.
func keepingSelection(handle func(call) error) func(call) error {
	return func(c call) error {
		err := handle(c)
		if f, refused := c.refusedSelection(err); refused {
			return c.membersPage(c.selectionPage(), f)
		}
		return err
	}
}

// changeSelection applies the action of the pressed button to the selected members.
func (c call) changeSelection() error {
	ids, err := c.selection()
	if err != nil {
		return err
	}
	use, by, at := c.console.use, c.editor(), c.at()
	var n int
	var left leftOut
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
		n, left, err = c.addSelectionToList(ids)
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
	return c.toSelection(done, n, left)
}

// leftOut are members whom an action left out, for the notice about it.
type leftOut struct {
	Names []string // the first usernames
	More  int
}

// maxLeftOut is how many members a notice names.
const maxLeftOut = 5

// text says who was left out; empty: nobody.
func (l leftOut) text() words.Phrase {
	names := strings.Join(l.Names, ", ")
	switch {
	case names == "":
		return nil
	case l.More > 0:
		return words.Of("Without an e-mail address: %s and %d more.", names, l.More)
	}
	return words.Of("Without an e-mail address: %s.", names)
}

// leftOutPage is the page of the cursor that has a leftOut. It is sealed, so that no link can say
// this of others.
func (c call) leftOutPage() string { return c.membersPath() + "#without" }

// addSelectionToList adds the selected members to the list named by its project and id.
func (c call) addSelectionToList(ids []users.MemberID) (n int, left leftOut, err error) {
	project, number, _ := strings.Cut(c.FormValue("list"), "/")
	id, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return 0, left, lists.ErrNotFound
	}
	at := app.Path{Organization: c.at().Organization, Project: project}
	done, err := c.console.use.Lists.AddMembers(c.ctx, c.actor(), at, lists.ID(id), ids)
	shown := min(len(done.Without), maxLeftOut)
	left.Names, left.More = done.Without[:shown], len(done.Without)-shown
	return done.Added, left, err
}

func (c call) removeSelection() error {
	ids, err := c.selection()
	if err != nil {
		return err
	}
	if err := c.console.use.Members.Remove(c.ctx, c.editor(), c.at(), ids...); err != nil {
		return err
	}
	return c.toSelection("remove", len(ids), leftOut{})
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

// selectionPage returns the query of the page on which the members were selected.
func (c call) selectionPage() url.Values {
	q, err := url.ParseQuery(c.FormValue("back"))
	if err != nil {
		return url.Values{}
	}
	return sanitizeValues(q)
}

// toSelection redirects to the page on which the members were selected.
func (c call) toSelection(done string, n int, left leftOut) error {
	q := c.selectionPage()
	q.Set("done", "selected-"+done)
	q.Set("count", strconv.Itoa(n))
	if len(left.Names) > 0 {
		q.Set("without", c.console.cursors.seal(c.leftOutPage(), left))
	}
	return c.redirect(c.membersPath() + "?" + q.Encode())
}
