package console

import (
	"net/http"
	"slices"
	"strings"

	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/domain/operators"
)

// Route is a row of the route table: a path and its requirements. {org} in the path is the
// organization for which the operator needs the right.
type Route struct {
	Method string
	Path   string
	Needs  operators.AccessLevel
	Recent bool                 // requires a recent sign-in, because it changes credentials or rights
	Factor operators.FactorRule // which second factor requirement applies; by default that of Needs
	// Machine marks a request of the single sign-on provider, not of a browser. It has no form
	// token and authenticates itself.
	Machine bool
	// Moved marks a former path that redirects to its new page.
	Moved  bool
	handle func(call) error
}

func get(path string, needs operators.AccessLevel, handle func(call) error) Route {
	return Route{Method: http.MethodGet, Path: path, Needs: needs, Factor: needs.Factor(), handle: handle}
}

func post(path string, needs operators.AccessLevel, handle func(call) error) Route {
	return Route{Method: http.MethodPost, Path: path, Needs: needs, Factor: needs.Factor(), handle: handle}
}

// guarded returns a route like post that also requires a recent sign-in. It is for changes of keys,
// channel secrets, roles, passwords and second factors.
func guarded(path string, needs operators.AccessLevel, handle func(call) error) Route {
	r := post(path, needs, handle)
	r.Recent = true
	return r
}

// moved returns the route of a former path, which redirects to a tab of the event's page.
func moved(path string, needs operators.AccessLevel, tab string) Route {
	r := get(path, needs, func(c call) error { return c.redirect(c.below("e", web.Param(c, "evt"), tab)) })
	r.Moved = true
	return r
}

// The prefixes of paths.
const (
	organizationPath = Prefix + "o/{org}/"
	projectPath      = organizationPath + "p/{prj}/"
	applicationPath  = projectPath + "a/{app}/"
	eventPath        = applicationPath + "e/{evt}/"
	notificationPath = eventPath + "n/{notification}/"
)

// idParameters are the path parameters that are ids. If several are invalid, the error is about the
// first one of this list.
var idParameters = []string{
	"member", "address", "assignment", "id", "delivery", "channel", "notification", "version",
	"entry", "group", "import", "key", "list", "message", "own",
}

// Routes returns the table of all routes of the console.
func Routes() []Route {
	return slices.Concat(
		accountRoutes(), passkeyRoutes(), installationRoutes(), auditRoutes(Prefix, operators.Installation), keyRoutes(Prefix, operators.Installation),
		organizationRoutes(), auditRoutes(organizationPath, operators.Administrator), keyRoutes(organizationPath, operators.Administrator),
		memberRoutes(), importRoutes(), channelRoutes(organizationPath, "{channel}"), mailboxRoutes(),
		projectRoutes(), channelRoutes(projectPath, "{own}"),
		applicationRoutes(), occurrenceRoutes(), eventRoutes(), partialRoutes(), templateRoutes(eventPath), templateRoutes(notificationPath))
}

func accountRoutes() []Route {
	const welcome = operators.WelcomePath + "{token}/"
	return []Route{
		get(assetsPath+"{asset}", operators.Everyone, call.showAsset),
		get(signInPath, operators.Everyone, call.showSignIn),
		post(signInPath, operators.Everyone, call.signIn),
		post(Prefix+"sign-out/", operators.SignedIn, call.signOut),
		get(welcome, operators.Everyone, call.showWelcome),
		post(welcome, operators.Everyone, call.acceptWelcome),
		post(welcome+"passkey/", operators.Everyone, call.beginWelcomePasskey),
		post(welcome+"passkey/confirm/", operators.Everyone, call.confirmWelcomePasskey),
		get(accountPath, operators.SignedIn, call.showAccount),
		guarded(accountPath+"password/", operators.SignedIn, call.changePassword),
		post(accountPath+"language/", operators.SignedIn, call.chooseLanguage),
		post(accountPath+"sessions/end/", operators.SignedIn, call.endSession),
		get(signOnPath, operators.Everyone, call.beginSignOn),
		get(signOnPath+"callback/", operators.Everyone, call.finishSignOn),
		get(signOnPath+"leave/", operators.Everyone, call.signOutAtProvider),
		{Method: http.MethodPost, Path: signOnPath + "logout/", Needs: operators.Everyone, Machine: true, handle: call.logOutByProvider},
		get(stepPath, operators.Everyone, call.showStep),
		post(stepPath, operators.Everyone, call.answerStep),
		get(factorsPath, operators.SignedIn, call.showFactors),
		guarded(factorsPath+"app/", operators.SignedIn, call.beginApp),
		guarded(factorsPath+"app/confirm/", operators.SignedIn, call.confirmApp),
		guarded(factorsPath+"app/remove/", operators.SignedIn, call.removeApp),
		guarded(factorsPath+"codes/", operators.SignedIn, call.renewCodes),
	}
}

func installationRoutes() []Route {
	const organizations = Prefix + "organizations/"
	home := get(Prefix, operators.SignedIn, call.showHome)
	home.Factor = operators.InstallationFactor // The installation's administrators see all organizations there.
	return []Route{
		home,
		get(Prefix+"system/", operators.Installation, call.showSystem),
		get(organizations, operators.Installation, call.showOrganizations),
		post(organizations, operators.Installation, call.createOrganization),
	}
}

func auditRoutes(place string, needs operators.AccessLevel) []Route {
	log := place + "audit/"
	return []Route{
		get(log, needs, call.showAudit),
		post(log+"export/", needs, call.exportAudit),
	}
}

func keyRoutes(place string, needs operators.AccessLevel) []Route {
	keys := place + "keys/"
	return []Route{
		get(keys, needs, call.showKeys),
		guarded(keys, needs, call.createKey),
		guarded(keys+"{key}/rotate/", needs, call.rotateKey),
		guarded(keys+"{key}/revoke/", needs, call.revokeKey),
	}
}

func organizationRoutes() []Route {
	const (
		groups = organizationPath + "groups/"
		group  = groups + "{group}/"
	)
	return []Route{
		get(organizationPath, operators.Viewer, call.showOrganization),
		post(organizationPath+"snooze/", operators.Operator, call.snooze),
		get(organizationPath+"search/", operators.Viewer, call.showSearch),
		get(organizationPath+"settings/", operators.Viewer, call.showSettings),
		get(organizationPath+"audit/{entry}/", operators.Administrator, call.showAuditEntry),
		get(organizationPath+"team/", operators.Administrator, call.showTeam),
		post(organizationPath+"name/", operators.Administrator, call.renameOrganization),
		post(organizationPath+"region/", operators.Administrator, call.setRegion),
		post(organizationPath+"searchable/", operators.Administrator, call.setSearchable),
		guarded(organizationPath+"second-factor/", operators.Administrator, call.requireFactor),
		get(organizationPath+"projects/", operators.Viewer, call.showProjects),
		post(organizationPath+"projects/", operators.Administrator, call.createProject),
		get(groups, operators.Viewer, call.showGroups),
		post(groups, operators.Administrator, call.createGroup),
		get(group, operators.Viewer, call.showGroup),
		post(group, operators.Administrator, call.renameGroup),
		post(group+"delete/", operators.Administrator, call.deleteGroup),
	}
}

func memberRoutes() []Route {
	const (
		members    = organizationPath + "u/"
		member     = members + "{member}/"
		registered = member + "p/{prj}/a/{app}/"
		address    = member + "addresses/{address}/"
		assignment = member + "assignments/{assignment}/"
	)
	return []Route{
		get(members, operators.Viewer, call.showMembers),
		get(members+"new/", operators.Operator, call.showNewMember),
		post(members+"new/", operators.Operator, call.createMember),
		post(members+"export/", operators.Operator, call.exportMembers),
		post(members+"selection/", operators.Operator, keepingSelection(call.changeSelection)),
		post(members+"selection/remove/", operators.Operator, keepingSelection(call.removeSelection)),
		get(member, operators.Viewer, call.showMember),
		get(member+"access/", operators.Administrator, call.showAccess),
		guarded(member+"access/role/", operators.Administrator, call.setRole),
		guarded(member+"access/invite/", operators.Administrator, call.invite),
		post(member+"locked/", operators.Operator, call.setMemberLocked),
		get(member+"names/", operators.Operator, call.showDetails),
		post(member+"names/", operators.Operator, call.saveDetails),
		get(member+"metadata/", operators.Operator, call.showMetadata),
		post(member+"metadata/", operators.Operator, call.saveMetadata),
		get(member+"remove/", operators.Operator, call.showRemoveMember),
		post(member+"remove/", operators.Operator, call.removeMember),
		post(member+"groups/", operators.Operator, call.linkMember),
		post(member+"groups/remove/", operators.Operator, call.unlinkMember),
		get(member+"addresses/new/", operators.Operator, call.showNewAddress),
		post(member+"addresses/new/", operators.Operator, call.addAddress),
		get(address, operators.Viewer, call.showAddress),
		post(address+"assign/", operators.Operator, call.assignAddress),
		post(address+"remove/", operators.Operator, call.removeAddress),
		post(assignment, operators.Operator, call.setAssignment),
		post(assignment+"remove/", operators.Operator, call.removeAssignment),
		post(registered+"locked/", operators.Operator, call.setMembershipLocked),
		post(registered+"notifications/", operators.Operator, call.setNotifications),
	}
}

func importRoutes() []Route {
	const (
		imports   = organizationPath + "imports/"
		oneImport = imports + "{import}/"
	)
	return []Route{
		get(imports, operators.Operator, call.showImports),
		post(imports, operators.Operator, call.uploadImport),
		get(oneImport, operators.Operator, call.showImport),
		get(oneImport+"progress/", operators.Operator, call.showImportProgress),
		get(oneImport+"rejected.csv", operators.Operator, call.downloadRejected),
		post(oneImport+"columns/", operators.Operator, call.mapImport),
		post(oneImport+"corrections/", operators.Operator, call.correctImport),
		post(oneImport+"start/", operators.Operator, call.startImport),
		post(oneImport+"cancel/", operators.Operator, call.cancelImport),
		get(oneImport+"undo/", operators.Operator, call.showUndoImport),
		post(oneImport+"undo/", operators.Operator, call.undoImport),
	}
}

// channelRoutes returns the routes for the channels of an organization or a project. param is the
// path parameter of a channel.
func channelRoutes(place, param string) []Route {
	channels := place + "channels/"
	channel := channels + param + "/"
	return []Route{
		get(channels, operators.Viewer, call.showChannels),
		get(channels+"new/", operators.Administrator, call.showNewChannel),
		guarded(channels+"new/", operators.Administrator, call.createChannel),
		get(channel, operators.Viewer, call.showChannel),
		guarded(channel, operators.Administrator, call.saveChannel),
		post(channel+"test/", operators.Administrator, call.testChannel),
		post(channel+"delete/", operators.Administrator, call.deleteChannel),
	}
}

func mailboxRoutes() []Route {
	const (
		mailbox = organizationPath + "mailbox/"
		message = mailbox + "{message}/"
	)
	return []Route{
		get(mailbox, operators.Viewer, call.showMailbox),
		post(mailbox+"clear/", operators.Administrator, call.clearMailbox),
		get(message, operators.Viewer, call.showMessage),
		get(message+"html/", operators.Viewer, call.showMessageHTML),
	}
}

func projectRoutes() []Route {
	const (
		lists        = projectPath + "d/"
		list         = lists + "{list}/"
		applications = projectPath + "a/"
	)
	return []Route{
		get(projectPath, operators.Viewer, call.showProject),
		post(projectPath+"name/", operators.Administrator, call.renameProject),
		get(lists, operators.Viewer, call.showLists),
		post(lists, operators.Operator, call.createList),
		get(list, operators.Viewer, call.showList),
		post(list, operators.Operator, call.changeList),
		post(list+"delete/", operators.Operator, call.deleteList),
		post(list+"add/", operators.Operator, call.addEmails),
		post(list+"members/", operators.Operator, call.addMember),
		post(list+"remove/", operators.Operator, call.removeRecipients),
		get(applications, operators.Viewer, call.showApplications),
		post(applications, operators.Administrator, call.createApplication),
	}
}

func applicationRoutes() []Route {
	const (
		memberships  = applicationPath + "m/"
		membership   = memberships + "{member}/"
		notification = applicationPath + "n/{notification}/"
	)
	return []Route{
		get(applicationPath+"settings/", operators.Administrator, call.showApplication),
		post(applicationPath+"settings/", operators.Administrator, call.changeApplication),
		post(applicationPath+"delete/", operators.Administrator, call.deleteApplication),
		get(memberships, operators.Viewer, call.showMemberships),
		post(memberships, operators.Operator, call.register),
		post(membership+"unregister/", operators.Operator, call.unregister),
		post(membership+"locked/", operators.Operator, call.setMembershipLockedInList),
		post(membership+"notifications/", operators.Operator, call.setNotificationsInList),
		get(notification+"subscriptions/", operators.Viewer, call.showSubscriptions),
		post(notification+"subscriptions/", operators.Operator, call.subscribe),
		post(notification+"opt-outs/withdraw/", operators.Operator, call.withdrawOptOut),
	}
}

func occurrenceRoutes() []Route {
	const (
		occurrence = applicationPath + "occurrences/{id}/"
		delivery   = occurrence + "d/{delivery}/"
	)
	return []Route{
		get(applicationPath, operators.Viewer, call.showOccurrences),
		get(occurrence, operators.Viewer, call.showOccurrence),
		get(occurrence+"explain/", operators.Viewer, call.explain),
		get(occurrence+"progress/", operators.Viewer, call.showProgress),
		post(occurrence+"retry/", operators.Operator, call.retry),
		post(occurrence+"cancel/", operators.Operator, call.cancelOccurrence),
		get(delivery, operators.Viewer, call.showDelivery),
		get(delivery+"html/", operators.Viewer, call.showDeliveryHTML),
		post(delivery+"retry/", operators.Operator, call.retryDelivery),
	}
}

func eventRoutes() []Route {
	const (
		events        = applicationPath + "e/"
		notifications = eventPath + "n/"
		trigger       = eventPath + "trigger/"
	)
	return []Route{
		get(events, operators.Viewer, call.showEvents),
		post(events, operators.Administrator, call.createEvent),
		get(eventPath, operators.Viewer, call.showEvent),
		post(eventPath, operators.Administrator, call.saveEvent),
		post(eventPath+"delete/", operators.Administrator, call.deleteEvent),
		get(eventPath+"copy/", operators.Administrator, call.showCopyEvent),
		post(eventPath+"copy/", operators.Administrator, call.copyEvent),
		get(eventPath+"audience/", operators.Viewer, call.showAudience),
		get(eventPath+"channels/", operators.Viewer, call.showEventChannels),
		post(eventPath+"channels/", operators.Administrator, call.saveEventChannels),
		get(eventPath+"test/", operators.Viewer, call.showEventTest),
		post(eventPath+"test/", operators.Administrator, call.testEvent),
		get(eventPath+"live/", operators.Viewer, call.showLive),
		post(eventPath+"live/", operators.Administrator, call.setEventLive),
		moved(trigger, operators.Administrator, liveTab),
		post(trigger, operators.Administrator, call.showDryRun),
		post(trigger+"html/", operators.Administrator, call.showDryRunHTML),
		post(trigger+"send/", operators.Administrator, call.sendTrigger),
		moved(notifications, operators.Administrator, audienceTab),
		post(notifications, operators.Administrator, call.createNotification),
		get(notificationPath, operators.Viewer, call.showNotification),
		post(notificationPath, operators.Administrator, call.saveNotification),
		post(notificationPath+"delete/", operators.Administrator, call.deleteNotification),
	}
}

// partialRoutes returns the routes for partials. Previews of a new one have a separate path,
// because every segment below partials/ may be a name.
func partialRoutes() []Route {
	const (
		partials = organizationPath + "partials/"
		partial  = partials + "{partial}/"
		version  = partial + "versions/{version}/"
		draft    = organizationPath + newPartialSegment + "/"
	)
	return []Route{
		get(partials, operators.Viewer, call.showPartials),
		post(partials, operators.Administrator, call.createPartial),
		post(draft+"preview/", operators.Administrator, call.previewNewPartial),
		post(draft+"html/", operators.Administrator, call.showNewPartialHTML),
		get(partial, operators.Viewer, call.showPartial),
		post(partial, operators.Administrator, call.savePartial),
		post(partial+"preview/", operators.Viewer, call.previewPartial),
		get(partial+"html/", operators.Viewer, call.showPartialHTML),
		post(partial+"html/", operators.Viewer, call.showPartialHTML),
		post(partial+"delete/", operators.Administrator, call.deletePartial),
		get(partial+"versions/", operators.Viewer, call.showPartialVersions),
		get(version, operators.Viewer, call.showPartialVersion),
		post(version, operators.Administrator, call.restorePartialVersion),
	}
}

// templateRoutes returns the routes for the templates of an event or a notification. A preview
// changes nothing, so viewers may use it.
func templateRoutes(owner string) []Route {
	template := owner + "t/{channel}/"
	version := template + "versions/{version}/"
	return []Route{
		get(template, operators.Viewer, call.showTemplate),
		post(template, operators.Administrator, call.saveTemplate),
		post(template+"preview/", operators.Viewer, call.previewTemplate),
		get(template+"html/", operators.Viewer, call.showTemplateHTML),
		post(template+"html/", operators.Viewer, call.showTemplateHTML),
		post(template+"test/", operators.Administrator, call.testTemplate),
		post(template+"delete/", operators.Administrator, call.deleteTemplate),
		get(template+"versions/", operators.Viewer, call.showVersions),
		get(version, operators.Viewer, call.showVersion),
		post(version, operators.Administrator, call.restoreVersion),
	}
}

// pattern returns the path in Echo's notation. It always ends with a slash, like every canonical
// path.
func (r Route) pattern() string {
	p := strings.NewReplacer("{", ":", "}", "").Replace(r.Path)
	if !strings.HasSuffix(p, "/") {
		p += "/"
	}
	return p
}
