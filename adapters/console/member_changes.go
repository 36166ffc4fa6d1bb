package console

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
)

// change is a use case that moves a switch of a member.
type change func(ctx context.Context, by operators.Officer, at app.Path, id users.MemberID, on bool) error

func (c call) setMemberLocked() error { return c.move(c.console.use.Profiles.SetLocked) }

func (c call) setMembershipLocked() error { return c.move(c.console.use.Profiles.SetMembershipLocked) }

func (c call) setNotifications() error { return c.move(c.console.use.Profiles.SetNotifications) }

// move moves a switch as the form says and shows the member again.
func (c call) move(set change) error {
	id, err := c.member()
	if err != nil {
		return err
	}
	on, err := c.on("on")
	if err != nil {
		return err
	}
	if err := set(c.ctx, c.officer(), c.at(), id, on); err != nil {
		return err
	}
	return c.to(c.memberPath() + "?done=saved")
}

// newMemberView is the form for a new member.
type newMemberView struct {
	Form   form
	Groups []orgs.Group
}

func (c call) showNewMember() error {
	return c.askForMember(http.StatusOK, filled("custom_fields", "{}"))
}

func (c call) askForMember(status int, f form) error {
	choices, err := c.console.use.Profiles.Choices(c.ctx, c.at())
	if err != nil {
		return err
	}
	return c.render(status, "member-new", "New user", newMemberView{Form: f, Groups: choices.Groups})
}

func (c call) createMember() error {
	var faults fault.Fields
	fields, err := metadata.Parse([]byte(c.FormValue("custom_fields")))
	faults.Add("custom_fields", err)
	e, err := users.NewEnrollment(c.FormValue("email"), c.FormValue("first_name"), c.FormValue("last_name"), fields)
	faults.Add("", err)
	if err = faults.Err(); err == nil {
		var done users.Enrolled
		done, err = c.console.use.Profiles.Create(c.ctx, c.officer(), c.at(), e, orgs.GroupID(c.chosen("group")))
		if err == nil {
			said := "was-there"
			if done.Enrolled {
				said = "enrolled"
			}
			return c.to(c.membersPath() + web.Join(strconv.FormatInt(int64(done.Member.ID), 10)) + "?done=" + said)
		}
	}
	f, ok := c.refused(err)
	if !ok {
		return err
	}
	return c.askForMember(web.Status(fault.Invalid), f)
}

// chosen is the id that is chosen in a field of a form, 0 for none.
func (c call) chosen(name string) int64 {
	n, err := strconv.ParseInt(c.FormValue(name), 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// formOfMember is a form about a member.
type formOfMember struct {
	app.Profile
	Form form
	// Stored is the metadata as it is now, where somebody changed it while it was edited here.
	Stored string
}

func (c call) showNames() error {
	return c.askAboutMember("member-names", func(p app.Profile) formOfMember {
		return formOfMember{Profile: p, Form: filled("first_name", p.Member.User.FirstName, "last_name", p.Member.User.LastName)}
	})
}

func (c call) renameMember() error {
	id, err := c.member()
	if err != nil {
		return err
	}
	err = c.console.use.Profiles.Rename(c.ctx, c.officer(), c.at(), id, c.FormValue("first_name"), c.FormValue("last_name"))
	return c.savedOr(err, "member-names", func(p app.Profile, f form) formOfMember { return formOfMember{Profile: p, Form: f} })
}

func (c call) showMetadata() error {
	return c.askAboutMember("member-metadata", func(p app.Profile) formOfMember {
		return formOfMember{Profile: p, Form: filled("custom_fields", indented(p.Member.CustomFields), "shown", p.Member.CustomFields.Digest())}
	})
}

func (c call) saveMetadata() error {
	id, err := c.member()
	if err != nil {
		return err
	}
	fields, err := metadata.Parse([]byte(c.FormValue("custom_fields")))
	if err != nil {
		var faults fault.Fields
		faults.Add("custom_fields", err)
		err = faults.Err()
	} else {
		err = c.console.use.Profiles.SaveFields(c.ctx, c.officer(), c.at(), id, c.FormValue("shown"), fields)
	}
	return c.savedOr(err, "member-metadata", func(p app.Profile, f form) formOfMember {
		v := formOfMember{Profile: p, Form: f}
		if errors.Is(err, users.ErrChanged) {
			v.Stored = indented(p.Member.CustomFields)
			f.values.Set("shown", p.Member.CustomFields.Digest()) // Whoever sends the form again has seen it.
		}
		return v
	})
}

func (c call) showRemoveMember() error {
	return c.askAboutMember("member-remove", func(p app.Profile) formOfMember { return formOfMember{Profile: p} })
}

func (c call) removeMember() error {
	id, err := c.member()
	if err != nil {
		return err
	}
	if err := c.console.use.Profiles.Remove(c.ctx, c.officer(), c.at(), id); err != nil {
		return err
	}
	return c.to(c.membersPath() + "?done=removed")
}

// askAboutMember shows a form about the path's member to whoever may change them.
func (c call) askAboutMember(page string, asked func(app.Profile) formOfMember) error {
	p, err := c.profile()
	if err != nil {
		return err
	}
	if err := c.officer().MayChange(p.Member); err != nil {
		return err
	}
	return c.render(http.StatusOK, page, p.Member.User.Username, asked(p))
}

// savedOr shows the member when err is nil, and the form again when it is a mistake in it.
func (c call) savedOr(err error, page string, again func(app.Profile, form) formOfMember) error {
	if err == nil {
		return c.to(c.memberPath() + "?done=saved")
	}
	f, ok := c.refused(err)
	if !ok {
		return err
	}
	p, err := c.profile()
	if err != nil {
		return err
	}
	return c.render(web.Status(fault.Invalid), page, p.Member.User.Username, again(p, f))
}

// indented is metadata as people like to read it.
func indented(m metadata.Map) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // The template escapes.
	e.SetIndent("", "  ")
	if err := e.Encode(map[string]any(m)); err != nil {
		return "" // Impossible: it was read from JSON.
	}
	return strings.TrimSpace(b.String())
}
