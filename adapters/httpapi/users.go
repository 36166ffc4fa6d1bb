package httpapi

import (
	"context"
	"net/http"

	"github.com/tocsin/tocsin/adapters/httpapi/jsonbody"
	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/users"
)

// details are the name and e-mail address of a member in responses.
type details struct {
	Email     string `json:"email"`
	FirstName string `json:"first_name"`
	LastName  string `json:"last_name"`
}

// user is a member of the organization in responses (decisions 4).
type user struct {
	ID       users.MemberID `json:"id"`
	Username string         `json:"username"`
	details
	CustomFields metadata.Map `json:"custom_fields"`
	Groups       []string     `json:"groups"`
	Locked       bool         `json:"locked"`
	// Active is the opposite of Locked, for clients of the contract's system.
	Active bool `json:"is_active"`
}

// enrolledUser is the response of POST.
type enrolledUser struct {
	user
	Created bool `json:"created"`
}

// deleted is the response of every call that deletes something.
type deleted struct {
	Deleted int `json:"deleted"`
}

// userBatchSize is how many users are fetched at once, fewer if their metadata is large.
const userBatchSize = 250

func (a *API) listUsers(c call) error {
	f := c.filters()
	wanted := memberFilter(f)
	return listing[users.Member]{
		filters: f,
		batch: func(ctx context.Context, p app.Page) (batch[users.Member], error) {
			if wanted.Text != "" {
				best, err := a.use.Users.TopMatches(ctx, c.at(), wanted, p.Limit)
				return batch[users.Member]{entries: best}, err
			}
			if wanted.IsZero() && wanted.GroupName == "" {
				found, err := a.use.Users.List(ctx, c.at(), p)
				return batch[users.Member]{found.Members, found.Next.ID, found.More}, err
			}
			found, err := a.use.Users.Find(ctx, c.at(), wanted, p)
			return batch[users.Member]{found.Members, found.Next.ID, found.More}, err
		},
		count: func(ctx context.Context, limit int) (int, bool, error) {
			return a.use.Users.Count(ctx, c.at(), wanted, limit)
		},
		id:   func(m users.Member) int64 { return int64(m.ID) },
		row:  func(m users.Member) any { return showMember(m) },
		size: userBatchSize,
		once: wanted.Text != "",
	}.send(c)
}

// memberFilter reads the filters of users.
func memberFilter(f *filters) (wanted app.MemberFilter) {
	wanted.Text = f.search()
	wanted.Username, wanted.Email, wanted.GroupName = f.text("username"), f.text("email"), f.text("group")
	if id := f.text("external_id"); id != "" {
		wanted.Metadata = metadata.Condition{Path: "external_id", Text: id}
	}
	if active := f.boolean("is_active"); active != nil {
		wanted.Active, wanted.Locked = *active, !*active
	}
	wanted.From, wanted.Before = f.timestamp("created_after"), f.timestamp("created_before")
	return wanted
}

func (a *API) createUser(c call) error {
	body := c.object()
	e, err := bindEnrollment(body)
	if err != nil {
		return err
	}
	done, err := a.use.Users.Create(c.ctx, c.actor(), c.at(), e)
	if err != nil {
		return err
	}
	return c.answer(createdOrOK(done.Created), enrolledUser{user: showMember(done.Member), Created: done.Created})
}

func bindEnrollment(body *jsonbody.Object) (users.Enrollment, error) {
	fields, _ := body.Map("custom_fields")
	e, err := users.NewEnrollment(body.String, fields)
	body.Check(err)
	return e, body.Err()
}

func (a *API) showUser(c call) error {
	m, err := a.use.Users.Show(c.ctx, c.at(), web.Param(c, "username"))
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, showMember(m))
}

func (a *API) patchUser(c call) error {
	body := c.object()
	fields, _ := body.Map("custom_fields")
	p, err := app.NewMemberPatch(body.String, fields, body.String("_mode"))
	body.Check(err)
	if err := body.Err(); err != nil {
		return err
	}
	m, err := a.use.Users.Patch(c.ctx, c.actor(), c.at(), web.Param(c, "username"), p)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, showMember(m))
}

func (a *API) removeUser(c call) error {
	n, err := a.use.Users.Remove(c.ctx, c.actor(), c.at(), web.Param(c, "username"))
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, deleted{n})
}

func showMember(m users.Member) user {
	return user{
		ID: m.ID, Username: m.User.Username, details: details(m.Details),
		CustomFields: notNil(m.CustomFields), Groups: append([]string{}, m.Groups...), Locked: m.Locked,
		Active: !m.Locked,
	}
}

// notNil turns absent metadata into an empty object.
func notNil(m metadata.Map) metadata.Map {
	if m == nil {
		return metadata.Map{}
	}
	return m
}

func createdOrOK(created bool) int {
	if created {
		return http.StatusCreated
	}
	return http.StatusOK
}
