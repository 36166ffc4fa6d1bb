package console

import (
	"context"
	"errors"

	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
)

func (c call) setMemberLocked() error {
	return c.setSwitch(c.console.use.Members.SetLocked, c.memberSwitched)
}

func (c call) setMembershipLocked() error {
	return c.setSwitch(c.console.use.Members.SetMembershipLocked, c.memberSwitched)
}

func (c call) setNotifications() error {
	return c.setSwitch(c.console.use.Members.SetNotifications, c.memberSwitched)
}

// memberSaved shows the path's member after a change.
func (c call) memberSaved() error { return c.done(c.memberPath(), "saved") }

func (c call) memberSwitched() error { return c.switched(c.memberPath()) }

// setSwitch sets a switch of the path's member to the value in the form, and then calls next.
func (c call) setSwitch(set func(ctx context.Context, by operators.Editor, at app.Path, id users.MemberID, on bool) error, next func() error) error {
	id := c.member()
	on, err := c.parseSwitch("on")
	if err != nil {
		return err
	}
	if err := set(c.ctx, c.editor(), c.at(), id, on); err != nil {
		return err
	}
	return next()
}

// newMemberView is the form for a new member.
type newMemberView struct {
	Form   form
	Groups []orgs.Group
	Limit  int // of the number of groups shown
}

func (c call) showNewMember() error {
	return c.newMemberPage(newForm("custom_fields", "{}"))
}

func (c call) newMemberPage(f form) error {
	choices, err := c.console.use.Members.Choices(c.ctx, c.at(), users.Query{Group: orgs.GroupID(c.selectedID("group"))})
	if err != nil {
		return err
	}
	return c.render(statusOf(f), "member-new", words.Of("New user"), newMemberView{Form: f, Groups: choices.Groups, Limit: app.MaxShown})
}

func (c call) createMember() error {
	var faults fault.Fields
	fields, err := metadata.Parse([]byte(c.FormValue("custom_fields")))
	faults.Add("custom_fields", err)
	e, err := users.NewEnrollment(c.FormValue, fields)
	faults.Add("", err)
	var made users.Enrolled
	if err = faults.Err(); err == nil {
		made, err = c.console.use.Members.Create(c.ctx, c.editor(), c.at(), e, orgs.GroupID(c.selectedID("group")))
	}
	done := "was-there"
	switch {
	case made.Enrolled:
		done = "enrolled"
	case made.Changed:
		done = "extended"
	}
	return c.answerForm(err, c.newMemberPage, c.below("u", made.Member.ID), done)
}

// memberFormView is a form about a member.
type memberFormView struct {
	app.MemberReport
	Form    form
	Changed bool // another user has changed the values since the form was loaded
}

// memberForm renders a form about the path's member for operators who may change them; adjust may
// change the view first.
func (c call) memberForm(page string, adjust func(v *memberFormView) error) error {
	p, err := c.memberReport()
	if err != nil {
		return err
	}
	if err := c.editor().MayChange(p.Member); err != nil {
		return err
	}
	v := memberFormView{MemberReport: p}
	if err := adjust(&v); err != nil {
		return err
	}
	return c.render(statusOf(v.Form), page, p.Member.User.Username, v)
}

// answerMemberForm responds to a form about the path's member, like answerForm.
func (c call) answerMemberForm(err error, page string) error {
	redisplay := func(f form) error {
		return c.memberForm(page, func(v *memberFormView) error {
			v.Form = f
			return nil
		})
	}
	return c.answerForm(err, redisplay, c.memberPath(), "saved")
}

func (c call) showDetails() error {
	return c.memberForm("member-names", func(v *memberFormView) error {
		var given []string
		for _, d := range v.Member.List() {
			given = append(given, d.Name, *d.Value)
		}
		v.Form = newForm(given...)
		return nil
	})
}

func (c call) saveDetails() error {
	id := c.member()
	given, err := users.NewDetails(c.FormValue)
	if err == nil {
		err = c.console.use.Members.SaveDetails(c.ctx, c.editor(), c.at(), id, given)
	}
	return c.answerMemberForm(err, "member-names")
}

func (c call) showMetadata() error {
	return c.memberForm("member-metadata", func(v *memberFormView) error {
		stored, err := indentJSON(v.Member.CustomFields)
		v.Form = newForm("custom_fields", stored, shownField, v.Member.CustomFields.Digest())
		return err
	})
}

func (c call) saveMetadata() error {
	id := c.member()
	var faults fault.Fields
	fields, err := metadata.Parse([]byte(c.FormValue("custom_fields")))
	faults.Add("custom_fields", err)
	if err = faults.Err(); err == nil {
		err = c.console.use.Members.SaveFields(c.ctx, c.editor(), c.at(), id, c.FormValue(shownField), fields)
	}
	if !errors.Is(err, users.ErrChanged) {
		return c.answerMemberForm(err, "member-metadata")
	}
	return c.memberForm("member-metadata", func(v *memberFormView) error {
		v.Form, _ = c.refused(err)
		v.Form.values.Set(shownField, v.Member.CustomFields.Digest()) // Sending the form again confirms it.
		v.Changed = true
		return nil
	})
}

func (c call) showRemoveMember() error {
	return c.memberForm("member-remove", func(*memberFormView) error { return nil })
}

func (c call) removeMember() error {
	id := c.member()
	if err := c.console.use.Members.Remove(c.ctx, c.editor(), c.at(), id); err != nil {
		return err
	}
	return c.done(c.membersPath(), "removed")
}
