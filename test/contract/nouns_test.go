package contract_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"

	"github.com/stretchr/testify/require"
)

// These are the API's paths of objects of the blueprint.
const (
	usersPath  = "/api/v1/user/acme/"
	shopPath   = "/api/o/acme/p/shop/"
	listsPath  = shopPath + "d/"
	webPath    = shopPath + "a/web/"
	officePath = shopPath + "a/office/"
)

// userPath returns the path of a member of acme, for any username.
func userPath(username string) string { return usersPath + url.PathEscape(username) + "/" }

func addressesPath(username string) string { return userPath(username) + "address/" }

func idPath(parent string, id int64) string { return fmt.Sprintf("%s%d/", parent, id) }

// user is the object of contract 2.1 and decisions 4.
type user struct {
	ID           int64           `json:"id"`
	Username     string          `json:"username"`
	Email        string          `json:"email"`
	FirstName    string          `json:"first_name"`
	LastName     string          `json:"last_name"`
	CustomFields json.RawMessage `json:"custom_fields"`
	Groups       []string        `json:"groups"`
	Locked       bool            `json:"locked"`
	Active       bool            `json:"is_active"`
	Created      bool            `json:"created"`
}

// address is the object of contract 2.2. Register shows addresses without id.
type address struct {
	ID    int64  `json:"id"`
	Value string `json:"value"`
	Name  string `json:"name"`
	Type  string `json:"type"`
}

// distributionList is the object of contract 2.3.
type distributionList struct {
	ID          int64  `json:"id"`
	Name        string `json:"name"`
	Members     string `json:"members"`
	Application *int64 `json:"application"`
}

// recipient is the object of contract 2.4.
type recipient struct {
	ID      int64  `json:"id"`
	Address string `json:"address"`
	User    string `json:"user"`
	Channel string `json:"channel"`
	Active  bool   `json:"active"`
}

// application is the object of contract 2.5 and decisions 5.
type application struct {
	ID     int64  `json:"id"`
	Name   string `json:"name"`
	Slug   string `json:"slug"`
	Active bool   `json:"active"`
	Events string `json:"events"`
}

// membership is the object of contract 2.6.
type membership struct {
	CustomFields        json.RawMessage `json:"custom_fields"`
	Active              bool            `json:"active"`
	Locked              bool            `json:"locked"`
	EnableNotifications bool            `json:"enable_notifications"`
}

// assignment is the object of contract 2.7.
type assignment struct {
	ID       int64  `json:"id"`
	Address  string `json:"address"`
	Channel  string `json:"channel"`
	Protocol string `json:"protocol"`
}

// registered is the answer of register (contract 4.4).
type registered struct {
	User struct {
		Username  string `json:"username"`
		FirstName string `json:"first_name"`
		LastName  string `json:"last_name"`
		Email     string `json:"email"`
	} `json:"user"`
	Created     bool         `json:"created"`
	Membership  membership   `json:"membership"`
	Addresses   []address    `json:"addresses"`
	Assignments []assignment `json:"assignments"`
	Skipped     []string     `json:"skipped"`
	List        *struct {
		Name            string `json:"name"`
		RecipientsAdded int    `json:"recipients_added"`
	} `json:"distribution_list"`
}

// subscribed is the answer of subscribe and unsubscribe (contract 4.5).
type subscribed struct {
	Subscription int64 `json:"subscription"`
}

// added is the answer of adding recipients.
type added struct {
	Added []string `json:"added"`
}

// enroll creates a member of acme whose username is the e-mail.
func (c client) enroll(email string) user {
	c.t.Helper()
	return read[user](c.post(usersPath, object{"email": email}).is(http.StatusCreated))
}

// register registers a new user with acme/shop/web.
func (c client) register(username string, more ...object) registered {
	c.t.Helper()
	payload := object{"username": username}
	for _, m := range more {
		maps.Copy(payload, m)
	}
	return read[registered](c.post(webPath+"register/", payload).is(http.StatusCreated))
}

// preferred returns the payload of an address that is to be assigned to the preferred channel.
func preferred(value string) object {
	return object{"value": value, "assign_to_preferred_channel": true}
}

// assign registers a new user with one e-mail address and returns its assignment to acme's
// shop-mail.
func (c client) assign(username, email string) assignment {
	c.t.Helper()
	done := c.register(username, object{"addresses": list{preferred(email)}})
	require.Len(c.t, done.Assignments, 1)
	return done.Assignments[0]
}

// list finds a distribution list of a project by its name.
func (c client) list(lists, name string) distributionList {
	c.t.Helper()
	all := read[[]distributionList](c.get(lists).is(http.StatusOK))
	i := slices.IndexFunc(all, func(l distributionList) bool { return l.Name == name })
	require.GreaterOrEqual(c.t, i, 0, "there is no list %q", name)
	return all[i]
}

// recipients returns the members of a list.
func (c client) recipients(l distributionList) []recipient {
	c.t.Helper()
	return read[[]recipient](c.get(l.Members).is(http.StatusOK))
}

// add adds addresses to a list of acme/shop.
func (c client) add(l distributionList, emails ...string) []string {
	c.t.Helper()
	return read[added](c.post(idPath(listsPath, l.ID)+"add/", emails).is(http.StatusOK)).Added
}

// subscribePath returns the path for subscribing to a notification of an application.
func (c client) subscribePath(app, notification string) string {
	c.t.Helper()
	all := read[[]struct {
		ID   int64
		Name string
	}](c.get(app + "n/").is(http.StatusOK))
	for _, n := range all {
		if n.Name == notification {
			return idPath(app+"n/", n.ID) + "subscribe/"
		}
	}
	require.Fail(c.t, "there is no notification", notification)
	return ""
}
