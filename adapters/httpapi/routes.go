package httpapi

import (
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/deliveries"
)

// Route is a line of the table: what the contract calls "method and path" and "permission". The levels {org}, {prj} and
// {app} in the path are the scope that the key must cover. An empty grant means that everybody may call.
type Route struct {
	Method string
	Path   string
	Grant  access.Grant
	handle func(*API, call) error
}

// Routes returns the table of all routes of the API.
func Routes() []Route { return routes() }

// routes is the whole API. A path is served without its last slash as well.
func routes() []Route {
	const (
		get, post, patch, del = http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodDelete

		org = "/api/o/{org}/"
		prj = org + "p/{prj}/"
		app = prj + "a/{app}/"
	)
	return slices.Concat(
		userRoutes("/api/v1/user/{org}/"), // contract 4.1
		userRoutes(org+"u/"),              // decisions 4
		[]Route{
			// Contract 4.2: distribution lists
			{get, prj + "d/", access.DistributionListRead, (*API).listLists},
			{post, prj + "d/", access.DistributionListWrite, (*API).createList},
			{get, prj + "d/{pk}/", access.DistributionListRead, (*API).showList},
			{post, prj + "d/{pk}/add/", access.DistributionListWrite, (*API).addRecipients},
			{get, prj + "d/{pk}/m/", access.DistributionListRead, (*API).listRecipients},

			// Contract 4.3 and 4.4: applications
			{get, prj + "a/", access.OrganizationRead, (*API).listApplications},
			{get, app, access.OrganizationRead, (*API).showApplication},
			{post, app + "register/", access.ManageApplicationUsers, (*API).register},
			{post, app + "unregister/{username}/", access.ManageApplicationUsers, (*API).unregister},
			{post, app + "unsubscribe/{username}/", access.ManageApplicationUsers, (*API).unsubscribeFromLists},
			{get, app + "e/", access.EventList, (*API).listEvents},
			{post, app + "e/{evt}/trigger/", access.EventTrigger, (*API).trigger},
			{get, app + "occurrences/{id}/", access.DeliveryRead, (*API).showOccurrence},
			{get, app + "occurrences/{id}/deliveries/", access.DeliveryRead, (*API).listDeliveries},
			{get, app + "occurrences/{id}/explain/", access.DeliveryRead, (*API).explainOccurrence},
			{post, app + "occurrences/{id}/cancel/", access.EventTrigger, (*API).cancelOccurrence},
			{get, app + "n/", access.OrganizationRead, (*API).listNotifications},

			// Contract 4.5: subscriptions
			{post, app + "n/{notification_pk}/subscribe/", access.ManageApplicationUsers, (*API).subscribe},
			{del, app + "n/{notification_pk}/subscribe/", access.ManageApplicationUsers, (*API).unsubscribe},

			// What an organization is made of
			{get, org, access.OrganizationRead, (*API).showOrganization},
			{get, org + "c/", access.OrganizationRead, (*API).listChannels},
			{get, org + "p/", access.OrganizationRead, (*API).listProjects},
			{get, prj, access.OrganizationRead, (*API).showProject},
			{get, prj + "c/", access.OrganizationRead, (*API).listChannels},

			// The service itself
			{get, "/api/system/ping/", access.SystemPing, (*API).ping},
			{get, "/api/openapi.json", "", (*API).showDocument},
			{get, "/api/docs/", "", (*API).showReference},
			{get, "/api/docs/reference.css", "", (*API).showStyle},
			{get, healthPath, "", (*API).liveness},
			{get, readyPath, "", (*API).readiness},
		},
	)
}

// userRoutes is the user API, which exists below two paths.
func userRoutes(users string) []Route {
	user := users + "{username}/"
	return []Route{
		{http.MethodGet, users, access.UserRead, (*API).listUsers},
		{http.MethodPost, users, access.UserWrite, (*API).createUser},
		{http.MethodGet, user, access.UserRead, (*API).showUser},
		{http.MethodPatch, user, access.UserWrite, (*API).patchUser},
		{http.MethodDelete, user, access.UserWrite, (*API).removeUser},
		{http.MethodGet, user + "address/", access.UserRead, (*API).listAddresses},
		{http.MethodPost, user + "address/", access.UserWrite, (*API).addAddress},
		{http.MethodDelete, user + "address/{id}/", access.UserWrite, (*API).removeAddress},
	}
}

// pages are what people open in a browser, without a key, because a link that we signed says whom it is about. They are no part of the
// API: they answer with HTML, errors too, and the OpenAPI document leaves them out.
func pages() []Route {
	const unsubscribe = deliveries.UnsubscribePath + "{token}/"
	return []Route{
		{http.MethodGet, unsubscribe, "", (*API).showUnsubscription},
		{http.MethodPost, unsubscribe, "", (*API).setUnsubscription},
	}
}

// open reports whether the last parameter of the path takes slashes too. Clients of the contract's system leave those of a username
// as they are, and here nothing else can follow it.
func (r Route) open() bool {
	return r.Method == http.MethodPost && strings.HasSuffix(r.Path, "/{username}/")
}

// bindOpen gives the last parameter what the router found for it.
func bindOpen(c echo.Context) error {
	values := c.ParamValues()
	last := len(values) - 1
	values[last] = strings.TrimSuffix(values[last], "/")
	if values[last] == "" {
		return web.ErrNoSuchPath
	}
	names := slices.Clone(c.ParamNames())
	names[last] = "username"
	c.SetParamNames(names...)
	c.SetParamValues(values...)
	return nil
}

// pattern is the path in the router's notation. It always ends in a slash, like every canonical path.
func (r Route) pattern() string {
	if r.open() {
		r.Path = strings.TrimSuffix(r.Path, "{username}/") + "*"
	}
	p := strings.NewReplacer("{", ":", "}", "").Replace(r.Path)
	if !strings.HasSuffix(p, "/") && !r.open() {
		p += "/"
	}
	return p
}
