package console

import (
	"net/http"
	"slices"
	"strings"

	"github.com/tocsin/tocsin/domain/operators"
)

// Route is a line of the table: a path, and what it needs of whoever asks for it. {org} in the path is the organization that the need is about.
type Route struct {
	Method string
	Path   string
	Needs  operators.Need
	handle func(call) error
}

// Routes returns the table of all routes of the console.
func Routes() []Route { return routes() }

func routes() []Route {
	const (
		get, post = http.MethodGet, http.MethodPost

		org        = Prefix + "o/{org}/"
		member     = org + "u/{member}/"
		keys       = org + "keys/"
		lists      = org + "p/{prj}/d/"
		list       = lists + "{list}/"
		apps       = org + "p/{prj}/a/"
		app        = apps + "{app}/"
		registrant = app + "m/{member}/"
		trigger    = app + "e/{evt}/trigger/"
		notified   = app + "n/{notification}/"
		occurrence = app + "occurrences/{id}/"
		registered = member + "p/{prj}/a/{app}/"
		address    = member + "addresses/{address}/"
		imports    = org + "imports/"
		oneImport  = imports + "{import}/"
	)
	return slices.Concat([]Route{
		{get, assetsPath + "{asset}", operators.Anybody, call.showAsset},
		{get, signInPath, operators.Anybody, call.showSignIn},
		{post, signInPath, operators.Anybody, call.signIn},
		{post, Prefix + "sign-out/", operators.SignedIn, call.signOut},
		{post, Prefix + "sign-out-everywhere/", operators.SignedIn, call.signOutEverywhere},

		{get, Prefix + "welcome/{token}/", operators.Anybody, call.showWelcome},
		{post, Prefix + "welcome/{token}/", operators.Anybody, call.acceptWelcome},
		{get, accountPath, operators.SignedIn, call.showAccount},
		{post, accountPath + "password/", operators.SignedIn, call.changePassword},
		{post, accountPath + "sessions/end/", operators.SignedIn, call.endSession},

		{get, Prefix, operators.SignedIn, call.showHome},
		{get, Prefix + "system/", operators.Installation, call.showSystem},
		{get, Prefix + "audit/", operators.Installation, call.showAudit},
		{post, Prefix + "audit/export/", operators.Installation, call.exportAudit},

		{get, org, operators.Viewer, call.showOrganization},
		{get, org + "audit/", operators.Administrator, call.showAudit},
		{post, org + "audit/export/", operators.Administrator, call.exportAudit},
		{get, org + "u/", operators.Viewer, call.showMembers},
		{get, member, operators.Viewer, call.showMember},
		{get, org + "u/new/", operators.Operator, call.showNewMember},
		{post, org + "u/new/", operators.Operator, call.createMember},
		{post, org + "u/export/", operators.Operator, call.exportMembers},
		{post, org + "u/selection/", operators.Operator, call.changeSelection},
		{post, org + "u/selection/remove/", operators.Operator, call.removeSelection},
		{get, member + "access/", operators.Administrator, call.showAccess},
		{post, member + "access/role/", operators.Administrator, call.setRole},
		{post, member + "access/invite/", operators.Administrator, call.invite},
		{post, member + "locked/", operators.Operator, call.setMemberLocked},
		{get, member + "names/", operators.Operator, call.showNames},
		{post, member + "names/", operators.Operator, call.renameMember},
		{get, member + "metadata/", operators.Operator, call.showMetadata},
		{post, member + "metadata/", operators.Operator, call.saveMetadata},
		{get, member + "remove/", operators.Operator, call.showRemoveMember},
		{post, member + "remove/", operators.Operator, call.removeMember},
		{post, member + "groups/", operators.Operator, call.linkMember},
		{post, member + "groups/remove/", operators.Operator, call.unlinkMember},
		{get, member + "addresses/new/", operators.Operator, call.showNewAddress},
		{post, member + "addresses/new/", operators.Operator, call.addAddress},
		{get, address, operators.Viewer, call.showAddress},
		{post, address + "assign/", operators.Operator, call.assignAddress},
		{post, address + "remove/", operators.Operator, call.removeAddress},
		{post, member + "assignments/{assignment}/", operators.Operator, call.setAssignment},
		{post, member + "assignments/{assignment}/remove/", operators.Operator, call.removeAssignment},
		{post, registered + "locked/", operators.Operator, call.setMembershipLocked},
		{post, registered + "notifications/", operators.Operator, call.setNotifications},

		{get, org + "groups/", operators.Viewer, call.showGroups},
		{post, org + "groups/", operators.Administrator, call.createGroup},
		{get, org + "groups/{group}/", operators.Viewer, call.showGroup},
		{post, org + "groups/{group}/", operators.Administrator, call.renameGroup},
		{post, org + "groups/{group}/delete/", operators.Administrator, call.deleteGroup},
		{get, imports, operators.Operator, call.showImports},
		{post, imports, operators.Operator, call.uploadImport},
		{get, oneImport, operators.Operator, call.showImport},
		{get, oneImport + "progress/", operators.Operator, call.showImportProgress},
		{get, oneImport + "rejected.csv", operators.Operator, call.downloadRejected},
		{post, oneImport + "start/", operators.Operator, call.startImport},
		{post, oneImport + "cancel/", operators.Operator, call.cancelImport},

		{get, lists, operators.Viewer, call.showLists},
		{post, lists, operators.Operator, call.createList},
		{get, list, operators.Viewer, call.showList},
		{post, list, operators.Operator, call.changeList},
		{post, list + "delete/", operators.Operator, call.deleteList},
		{post, list + "add/", operators.Operator, call.addEmails},
		{post, list + "members/", operators.Operator, call.addPerson},
		{post, list + "remove/", operators.Operator, call.removeRecipients},

		{get, apps, operators.Viewer, call.showApplications},
		{post, apps, operators.Administrator, call.createApplication},
		{get, app + "settings/", operators.Administrator, call.showApplication},
		{post, app + "settings/", operators.Administrator, call.changeApplication},
		{post, app + "delete/", operators.Administrator, call.deleteApplication},
		{get, app + "m/", operators.Viewer, call.showRegistrants},
		{post, app + "m/", operators.Operator, call.register},
		{post, registrant + "unregister/", operators.Operator, call.unregister},
		{post, registrant + "locked/", operators.Operator, call.setRegistrantLocked},
		{post, registrant + "notifications/", operators.Operator, call.setRegistrantNotifications},
		{get, trigger, operators.Administrator, call.showTrigger},
		{post, trigger, operators.Administrator, call.tryTrigger},
		{post, trigger + "send/", operators.Administrator, call.sendTrigger},
		{get, notified + "subscriptions/", operators.Viewer, call.showSubscriptions},
		{post, notified + "subscriptions/", operators.Operator, call.subscribe},
		{post, notified + "opt-outs/withdraw/", operators.Operator, call.withdrawOptOut},

		{get, keys, operators.Administrator, call.showKeys},
		{post, keys, operators.Administrator, call.createKey},
		{post, keys + "{key}/rotate/", operators.Administrator, call.rotateKey},
		{post, keys + "{key}/revoke/", operators.Administrator, call.revokeKey},
		{get, Prefix + "keys/", operators.Installation, call.showKeys},
		{post, Prefix + "keys/", operators.Installation, call.createKey},
		{post, Prefix + "keys/{key}/rotate/", operators.Installation, call.rotateKey},
		{post, Prefix + "keys/{key}/revoke/", operators.Installation, call.revokeKey},

		{get, app, operators.Viewer, call.showOccurrences},
		{get, occurrence, operators.Viewer, call.showOccurrence},
		{get, occurrence + "explain/", operators.Viewer, call.explain},
		{get, occurrence + "progress/", operators.Viewer, call.showProgress},
		{post, occurrence + "retry/", operators.Operator, call.retry},
		{get, occurrence + "d/{delivery}/", operators.Viewer, call.showDelivery},
		{get, occurrence + "d/{delivery}/html/", operators.Viewer, call.showDeliveryHTML},
		{post, occurrence + "d/{delivery}/retry/", operators.Operator, call.retryDelivery},
	}, channelRoutes(org, "{channel}"), channelRoutes(org+"p/{prj}/", "{own}"), mailboxRoutes(org), tenancyRoutes(org), eventRoutes(app))
}

// largestForm is the size of the largest form that the route takes, in bytes.
func (r Route) largestForm() int64 {
	switch {
	case strings.Contains(r.Path, "/t/{channel}/"):
		return maxTemplateForm
	case strings.HasSuffix(r.Path, "/d/{list}/add/"):
		return maxEmailsForm
	}
	return maxForm
}

// pattern is the path in the router's notation. It always ends in a slash, like every canonical path.
func (r Route) pattern() string {
	p := strings.NewReplacer("{", ":", "}", "").Replace(r.Path)
	if !strings.HasSuffix(p, "/") {
		p += "/"
	}
	return p
}
