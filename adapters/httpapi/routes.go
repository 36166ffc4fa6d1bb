package httpapi

import (
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/fault"
)

// Route is a row of the route table: the contract's "method and path" and "permission". {org},
// {prj} and {app} in the path are the scope that the key must cover. A route with an empty grant
// needs no key.
type Route struct {
	Method string
	Path   string
	Grant  access.Grant
	handle func(*API, call) error
}

// Routes returns the table of all routes of the API.
func Routes() []Route { return routes() }

// routes returns the route table. Paths are also served without the trailing slash.
func routes() []Route {
	const (
		get, post, put, patch, del = http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete

		org = "/api/o/{org}/"
		prj = org + "p/{prj}/"
		app = prj + "a/{app}/"
	)
	return slices.Concat(
		userRoutes("/api/v1/user/{org}/"), // contract 4.1
		userRoutes(org+"u/"),              // decisions 4
		channelRoutes(org+"c/"),
		channelRoutes(prj+"c/"),
		eventRoutes(app+"e/"),
		partialRoutes(org+"partials/"),
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
			{get, app + "occurrences/", access.DeliveryRead, (*API).listOccurrences},
			{get, app + "occurrences/{id}/", access.DeliveryRead, (*API).showOccurrence},
			{get, app + "occurrences/{id}/deliveries/", access.DeliveryRead, (*API).listDeliveries},
			{get, app + "occurrences/{id}/explain/", access.DeliveryRead, (*API).explainOccurrence},
			{post, app + "occurrences/{id}/cancel/", access.EventTrigger, (*API).cancelOccurrence},
			{get, app + "n/", access.OrganizationRead, (*API).listNotifications},

			// Contract 4.5: subscriptions
			{post, app + "n/{notification_pk}/subscribe/", access.ManageApplicationUsers, (*API).subscribe},
			{del, app + "n/{notification_pk}/subscribe/", access.ManageApplicationUsers, (*API).unsubscribe},

			// Parts of an organization
			{get, org, access.OrganizationRead, (*API).showOrganization},
			{get, org + "c/", access.OrganizationRead, (*API).listChannels},
			{get, org + "p/", access.OrganizationRead, (*API).listProjects},
			{get, prj, access.OrganizationRead, (*API).showProject},
			{get, prj + "c/", access.OrganizationRead, (*API).listChannels},

			// Managing it
			{put, org + "blueprint/", access.BlueprintApply, (*API).applyBlueprint},
			{get, organizationsPath, access.OrganizationRead, (*API).listOrganizations},
			{post, organizationsPath, access.OrganizationWrite, (*API).createOrganization},
			{patch, org, access.OrganizationWrite, (*API).patchOrganization},
			{get, org + "g/", access.OrganizationRead, (*API).listGroups},
			{post, org + "g/", access.GroupWrite, (*API).createGroup},
			{get, org + "g/{group}/", access.OrganizationRead, (*API).showGroup},
			{patch, org + "g/{group}/", access.GroupWrite, (*API).patchGroup},
			{del, org + "g/{group}/", access.GroupWrite, (*API).deleteGroup},
			{post, org + "g/{group}/add/", access.GroupWrite, (*API).linkMembers},
			{post, org + "g/{group}/remove/", access.GroupWrite, (*API).unlinkMembers},
			{post, org + "p/", access.ProjectWrite, (*API).createProject},
			{patch, prj, access.ProjectWrite, (*API).patchProject},
			{patch, prj + "d/{pk}/", access.DistributionListWrite, (*API).patchList},
			{del, prj + "d/{pk}/", access.DistributionListWrite, (*API).deleteList},
			{post, prj + "d/{pk}/remove/", access.DistributionListWrite, (*API).removeRecipients},
			{post, prj + "a/", access.ApplicationWrite, (*API).createApplication},
			{patch, app, access.ApplicationWrite, (*API).patchApplication},
			{del, app, access.ApplicationWrite, (*API).deleteApplication},
			{get, org + "k/", access.KeyRead, (*API).listKeys},
			{post, org + "k/", access.KeyWrite, (*API).createKey},
			{get, org + "k/{key}/", access.KeyRead, (*API).showKey},
			{patch, org + "k/{key}/", access.KeyWrite, (*API).patchKey},
			{post, org + "k/{key}/rotate/", access.KeyWrite, (*API).rotateKey},
			{post, org + "k/{key}/revoke/", access.KeyWrite, (*API).revokeKey},
			{get, org + "r/", access.RoleRead, (*API).listRoles},
			{get, org + "r/{username}/", access.RoleRead, (*API).showRole},
			{put, org + "r/{username}/", access.RoleWrite, (*API).putRole},
			{del, org + "r/{username}/", access.RoleWrite, (*API).deleteRole},
			{post, org + "r/{username}/invite/", access.RoleWrite, (*API).inviteByRole},
			{get, org + "m/{username}/", access.MembershipRead, (*API).showMember},
			{patch, org + "m/{username}/", access.MembershipWrite, (*API).patchMember},
			{get, app + "m/", access.MembershipRead, (*API).listMemberships},
			{get, app + "m/{username}/", access.MembershipRead, (*API).showMembership},
			{patch, app + "m/{username}/", access.MembershipWrite, (*API).patchMembership},
			{post, app + "occurrences/{id}/retry/", access.DeliveryWrite, (*API).retryDeliveries},
			{get, org + "audit/", access.AuditRead, (*API).listAudit},

			// The service itself
			{get, "/api/system/ping/", access.SystemPing, (*API).ping},
			{get, documentPath, "", (*API).showDocument},
			{get, docsPath, "", (*API).showReference},
			{get, healthPath, "", (*API).liveness},
			{get, readyPath, "", (*API).readiness},
		},
	)
}

// organizationsPath is the collection of organizations. Keys that are limited to an organization
// may not use it.
const organizationsPath = "/api/o/"

// channelRoutes returns the routes for the channels of an organization or of a project.
func channelRoutes(all string) []Route {
	channel := all + "{channel}/"
	return []Route{
		{http.MethodPost, all, access.ChannelWrite, (*API).createChannel},
		{http.MethodGet, channel, access.ChannelRead, (*API).showChannel},
		{http.MethodPatch, channel, access.ChannelWrite, (*API).patchChannel},
		{http.MethodDelete, channel, access.ChannelWrite, (*API).deleteChannel},
		{http.MethodPost, channel + "test/", access.ChannelWrite, (*API).testChannel},
	}
}

// eventRoutes returns the routes for the events of an application and their notifications.
func eventRoutes(all string) []Route {
	event := all + "{evt}/"
	notification := event + "n/{notification_pk}/"
	return slices.Concat([]Route{
		{http.MethodPost, all, access.EventWrite, (*API).createEvent},
		{http.MethodGet, event, access.EventList, (*API).showEvent},
		{http.MethodPatch, event, access.EventWrite, (*API).patchEvent},
		{http.MethodDelete, event, access.EventWrite, (*API).deleteEvent},
		{http.MethodPost, event + "n/", access.EventWrite, (*API).createNotification},
		{http.MethodGet, notification, access.OrganizationRead, (*API).showNotification},
		{http.MethodPatch, notification, access.EventWrite, (*API).patchNotification},
		{http.MethodDelete, notification, access.EventWrite, (*API).deleteNotification},
	}, templateRoutes(event), templateRoutes(notification))
}

// partialRoutes returns the routes for the partials of an organization.
func partialRoutes(all string) []Route {
	partial := all + "{name}/"
	version := partial + "versions/{version}/"
	return []Route{
		{http.MethodGet, all, access.TemplateRead, (*API).listPartials},
		{http.MethodGet, partial, access.TemplateRead, (*API).showPartial},
		{http.MethodPut, partial, access.TemplateWrite, (*API).putPartial},
		{http.MethodDelete, partial, access.TemplateWrite, (*API).deletePartial},
		{http.MethodGet, partial + "versions/", access.TemplateRead, (*API).listPartialVersions},
		{http.MethodGet, version, access.TemplateRead, (*API).showPartialVersion},
		{http.MethodPost, version + "restore/", access.TemplateWrite, (*API).restorePartialVersion},
	}
}

// templateRoutes returns the routes for the templates of an event or of a notification.
func templateRoutes(owner string) []Route {
	template := owner + "t/{channel}/"
	version := template + "versions/{version}/"
	return []Route{
		{http.MethodGet, owner + "t/", access.TemplateRead, (*API).listTemplates},
		{http.MethodGet, template, access.TemplateRead, (*API).showTemplate},
		{http.MethodPut, template, access.TemplateWrite, (*API).putTemplate},
		{http.MethodDelete, template, access.TemplateWrite, (*API).deleteTemplate},
		{http.MethodGet, template + "versions/", access.TemplateRead, (*API).listVersions},
		{http.MethodGet, version, access.TemplateRead, (*API).showVersion},
		{http.MethodPost, version + "restore/", access.TemplateWrite, (*API).restoreVersion},
	}
}

// userRoutes returns the routes of the user API, which exists below two paths.
func userRoutes(users string) []Route {
	user := users + "{username}/"
	return []Route{
		{http.MethodGet, users, access.UserRead, (*API).listUsers},
		{http.MethodPost, users, access.UserWrite, (*API).createUser},
		{http.MethodPost, users + "bulk/", access.UserWrite, (*API).createUsers},
		{http.MethodGet, user, access.UserRead, (*API).showUser},
		{http.MethodPatch, user, access.UserWrite, (*API).patchUser},
		{http.MethodDelete, user, access.UserWrite, (*API).removeUser},
		{http.MethodGet, user + "address/", access.UserRead, (*API).listAddresses},
		{http.MethodPost, user + "address/", access.UserWrite, (*API).addAddress},
		{http.MethodDelete, user + "address/{id}/", access.UserWrite, (*API).removeAddress},
	}
}

// pages returns the routes of HTML pages. They need no key, because a signed link identifies the
// user. They are not in the OpenAPI document.
func pages() []Route {
	const unsubscribe = deliveries.UnsubscribePath + "{token}/"
	return []Route{
		{http.MethodGet, unsubscribe, "", (*API).showUnsubscription},
		{http.MethodPost, unsubscribe, "", (*API).setUnsubscription},
	}
}

// idParameters are the path parameters that are ids. If several are invalid, the error is about the
// first one of this list.
var idParameters = []string{"notification_pk", "channel", "version", "group", "id", "key", "pk"}

// run reads the ids in the path and calls the handler.
func (r Route) run(a *API, c call) error {
	if err := web.ReadIDs(c, idParameters...); err != nil {
		return err
	}
	if err := r.checkDryRun(c); err != nil {
		return err
	}
	return r.handle(a, c)
}

// checkDryRun refuses the parameter dry_run of a write that has no dry run, so that nothing is
// written. A blueprint takes the parameter. A trigger refuses it in its own handler.
func (r Route) checkDryRun(c call) error {
	if r.Method == http.MethodGet || c.Request().URL.RawQuery == "" || !c.QueryParams().Has("dry_run") ||
		strings.HasSuffix(r.Path, "/blueprint/") || strings.HasSuffix(r.Path, "/trigger/") {
		return nil
	}
	var faults fault.Fields
	faults.AddAs(errUnknownParameter, "dry_run", "this call has no dry run")
	return faults.Err()
}

// open reports whether the last path parameter, a username, may contain slashes. Clients of the
// contract's system do not encode them.
func (r Route) open() bool {
	return r.Method == http.MethodPost && strings.HasSuffix(r.Path, "/{username}/")
}

// bindOpenParameter sets the last parameter to the rest of the path.
func bindOpenParameter(c echo.Context) error {
	values := c.ParamValues()
	last := len(values) - 1
	values[last] = strings.TrimSuffix(values[last], "/")
	if values[last] == "" {
		return web.ErrNoSuchPath.With("there is nothing at this path: {username} is missing").On("username")
	}
	names := slices.Clone(c.ParamNames())
	names[last] = "username"
	c.SetParamNames(names...)
	c.SetParamValues(values...)
	return nil
}

// pattern returns the path in Echo's notation. It always ends with a slash, like every canonical
// path.
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
