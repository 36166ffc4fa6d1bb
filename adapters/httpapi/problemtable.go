package httpapi

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/tocsin/tocsin/adapters/httpapi/jsonbody"
	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/adapters/web/admission"
	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/installation"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/quotas"
	"github.com/tocsin/tocsin/domain/requests"
	"github.com/tocsin/tocsin/domain/subscriptions"
	"github.com/tocsin/tocsin/domain/templates"
	"github.com/tocsin/tocsin/domain/users"
)

// problems is the table of all errors. The pages below /api/docs/errors/ show it; the OpenAPI
// document lists its codes. Rows are ordered by status; the first row of a status is for its other
// errors.
var problems = []Problem{
	{Code: "invalid_request", Status: http.StatusBadRequest, Default: true, Title: "A value is wrong",
		Meaning: "A member of the body, a header or a query parameter is missing, or has a value that is not valid.",
		Remedy:  "Read `errors`: it names every wrong value and the reason. `param` is the first of them. Correct them all and send the request again."},
	{Code: "invalid_json", Status: http.StatusBadRequest, Faults: []error{jsonbody.ErrNotJSON}, Title: "The body is not JSON",
		Meaning: "The body is missing, or is not one JSON text. `errors` says at which line and column it stops being JSON.",
		Remedy:  "Let a JSON library write the body instead of concatenating strings. Frequent causes are a comma after the last member, single quotes, and a shell that removes quotes."},
	{Code: "unknown_member", Status: http.StatusBadRequest, Faults: []error{jsonbody.ErrUnknownMember}, Title: "The body has a member that does not exist",
		Meaning: "Trigger and the calls that manage an organization refuse unknown members: with a mistyped name the message or the change would be wrong. Other calls ignore them.",
		Remedy:  "Check the spelling of the name. `errors` lists the members that exist. Values for templates belong in `context`."},
	{Code: "unknown_parameter", Status: http.StatusBadRequest, Faults: []error{errUnknownParameter}, Title: "The query has a parameter that does not exist",
		Meaning: "Lists and trigger refuse unknown query parameters: with a mistyped filter a list would return more than was asked for.",
		Remedy:  "Check the spelling of the name. `errors` lists the parameters that exist. There is no `page`: follow the `Link` header. Options of a trigger, such as `dry_run`, belong in the body."},
	{Code: "unknown_recipient", Status: http.StatusBadRequest, Faults: []error{events.ErrUnknownRecipient}, Title: "The call names unknown recipients",
		Meaning: "`options.limit_to` of a trigger has a value that is neither the username nor an address of a member of this organization, or no member has an e-mail address that is to be added to a list. Nothing was sent or added.",
		Remedy:  "Create the user first, or correct the name. To send to the known recipients and skip the others, set `options.ignore_unknown` of the trigger to `true`."},
	{Code: "unknown_channel", Status: http.StatusBadRequest, Faults: []error{events.ErrUnknownChannel}, Title: "The trigger names a channel that the event does not have",
		Meaning: "`options.channels` names a channel that the event cannot use. Nothing was sent.",
		Remedy:  "Use names from the list of channels of the project or the organization, and only those that the event is limited to, if it is."},
	{Code: "context_mismatch", Status: http.StatusBadRequest, Faults: []error{events.ErrContext}, Title: "The context does not fit the event",
		Meaning: "The event has a JSON Schema for its context, and the context that was sent does not fit it, or cannot be checked: it would take too long, or the stored schema is no longer accepted. Nothing was sent.",
		Remedy:  "`errors` gives the place of each mistake as a JSON pointer, or says what is wrong with the schema. The list of events shows the schema."},
	{Code: "metadata_too_large", Status: http.StatusBadRequest, Faults: []error{metadata.ErrTooLarge, metadata.ErrTooMany}, Title: "The metadata is too large",
		Meaning: "The metadata of one member holds 64 KiB and 2,000 values; a change would make it larger than that. Members of objects and elements of arrays count, at any depth.",
		Remedy:  "Keep large data in your own system, and only its key here."},
	{Code: "name_taken", Status: http.StatusBadRequest, Title: "The name is taken",
		Faults:  []error{lists.ErrNameTaken, channels.ErrNameTaken, access.ErrNameTaken, subscriptions.ErrNameTaken, events.ErrPartialNameTaken, orgs.ErrGroupTaken},
		Meaning: "An object of this kind with this name exists already. Names are compared without regard to case.",
		Remedy:  "Choose another name, or look up the existing object in its list and use its id."},
	{Code: "slug_taken", Status: http.StatusBadRequest, Faults: []error{orgs.ErrSlugTaken, events.ErrSlugTaken, applications.ErrSlugTaken}, Title: "The slug is taken",
		Meaning: "An object of this kind with this slug exists already.", Remedy: "Choose another slug, or use the existing object."},
	{Code: "reserved", Status: http.StatusBadRequest, Faults: []error{orgs.ErrReserved, orgs.ErrGroupDefault}, parts: []string{"group"}, Title: "This name is reserved",
		Meaning: "The organization `system` and the group `Default` belong to the service.", Remedy: "Choose another name."},
	{Code: "in_use", Status: http.StatusBadRequest, Title: "It is in use",
		Faults:  []error{channels.ErrInUse, events.ErrInUse, applications.ErrInUse, lists.ErrInUse, subscriptions.ErrInUse, events.ErrPartialInUse, orgs.ErrGroupInUse, lists.ErrRepinned},
		parts:   []string{"notification_pk", "evt", "app", "pk", "channel", "group", "name"},
		Meaning: "Another object uses the one to be removed or changed.",
		Remedy:  "Remove the object that uses it first; `detail` names it."},
	{Code: "occurrence_over", Status: http.StatusBadRequest, Faults: []error{events.ErrCancelled, events.ErrExpired}, parts: []string{"id"}, Title: "The occurrence was cancelled or has expired",
		Meaning: "Nothing more is sent for an occurrence that was cancelled, or whose `expires_at` has passed.", Remedy: "Trigger the event again, if its message still matters."},
	{Code: "preferred_taken", Status: http.StatusBadRequest, Faults: []error{channels.ErrPreferredTaken}, Title: "Another channel is preferred",
		Meaning: "Only one channel of a protocol can be preferred.", Remedy: "First make the other channel not preferred."},
	{Code: "incompatible_channel", Status: http.StatusBadRequest, Faults: []error{channels.ErrIncompatible}, Title: "The channel cannot reach the address",
		Meaning: "A channel reaches addresses of the types of its protocol only: mail reaches e-mail addresses, and so on.",
		Remedy:  "Choose a channel of another protocol, or another address of the member."},
	{Code: "template_invalid", Status: http.StatusBadRequest, Faults: []error{templates.ErrNotParsed, templates.ErrTooLong, templates.ErrNotPlain, events.ErrPartialBreaks, events.ErrTemplatesTooLarge}, Title: "The template cannot be used",
		Meaning: "A template cannot be parsed, or uses a variable that its event does not have; a partial would break the templates that use it; or the templates of an event take more than 8 MiB together.",
		Remedy:  "`errors` gives the part and the line of the mistake, and suggests a correction."},
	{Code: "too_many_partials", Status: http.StatusBadRequest, Faults: []error{events.ErrTooManyPartials}, Title: "There are too many partials",
		Meaning: "An organization has at most 100 partials.", Remedy: "Delete unused partials."},
	{Code: "unknown_list", Status: http.StatusBadRequest, Faults: []error{lists.ErrUnknown}, Title: "There is no such distribution list",
		Meaning: "`distribution_list` names a list that the project does not have. Nothing was changed.",
		Remedy:  "Create the list first, or correct its name or id. The list of distribution lists shows them."},
	{Code: "list_pinned", Status: http.StatusBadRequest, Faults: []error{lists.ErrPinned}, Title: "The distribution list belongs to another application",
		Meaning: "The list is pinned to one application of its project, and the call is for another one.",
		Remedy:  "Use a list that is not pinned, or is pinned to this application."},
	{Code: "list_without_channel", Status: http.StatusBadRequest, Faults: []error{lists.ErrNoChannel}, Title: "No channel reaches the addresses",
		Meaning: "E-mail addresses join a list through the preferred channel of the protocol EMAIL, and there is none.",
		Remedy:  "An administrator of the organization must create an e-mail channel and mark it as preferred."},
	{Code: "unknown_application", Status: http.StatusBadRequest, Faults: []error{lists.ErrApplication}, Title: "There is no such application",
		Meaning: "The project has no application with the id in the body.", Remedy: "Correct the id. The list of applications shows them."},
	{Code: "event_inactive", Status: http.StatusBadRequest, Faults: []error{events.ErrInactive}, parts: []string{"evt"}, Title: "The event is inactive",
		Meaning: "The event is switched off, so nothing was sent.", Remedy: "Ask an administrator of the organization to switch it on. Sending again does not help before that."},
	{Code: "application_inactive", Status: http.StatusBadRequest, Faults: []error{events.ErrApplicationInactive}, parts: []string{"app"}, Title: "The application is inactive",
		Meaning: "The application is switched off, so nothing was sent.", Remedy: "Ask an administrator of the organization to switch it on. Sending again does not help before that."},
	{Code: "key_ended", Status: http.StatusBadRequest, Faults: []error{access.ErrEnded, access.ErrReplaced}, parts: []string{"key"}, Title: "The key has ended",
		Meaning: "The key to be changed has been revoked or replaced, or has expired.", Remedy: "Use the key that replaced it, or issue a new one."},
	{Code: "unreadable_request", Status: http.StatusBadRequest, Faults: []error{errUnreadable}, Title: "The request cannot be read",
		Meaning: "The data received is not an HTTP/1.1 request: a header is malformed, or `Host` is missing or duplicated. The connection is closed.",
		Remedy:  "Use an HTTP library instead of writing requests by hand; check the proxies between it and the service."},

	{Code: "unauthenticated", Status: http.StatusUnauthorized, Default: true, param: echo.HeaderAuthorization, Title: "A valid API key is required",
		Meaning: "The request carries no key, or one that is malformed, unknown, expired or revoked. The service does not say which.",
		Remedy:  "Send the header `Authorization: Key <API_KEY>`, once, with the word `Key` and not `Bearer`. A key has 68 characters and begins with `tcs_`: check that none is missing, and that it has no quotes or line breaks. Administrators issue keys in the console, or with `tocsin key create`."},

	{Code: "forbidden", Status: http.StatusForbidden, Default: true, Title: "This is not allowed",
		Meaning: "The key is valid, but the request is not allowed.", Remedy: "Read `detail`. Sending the request again does not help."},
	{Code: "out_of_scope", Status: http.StatusForbidden, Faults: []error{access.ErrOutOfScope}, Title: "The key does not reach this",
		Meaning: "The key is limited to an organization, a project or an application, and the path names another one, or a level above it. The answer is the same whether the other one exists or not.",
		Remedy:  "Check the spelling of the part of the path that `param` names. Without `param` the call needs a wider scope than the key has: use a key of the project or of the organization."},
	{Code: "grant_missing", Status: http.StatusForbidden, Faults: []error{access.ErrNotGranted}, Title: "The key lacks the grant",
		Meaning: "The scope of the key is right, but it lacks the grant that the call needs; `detail` names it.", Remedy: "Ask for a key with that grant. The reference names the grant of each call."},
	{Code: "key_wider", Status: http.StatusForbidden, Faults: []error{access.ErrWider}, Title: "The other key may do more",
		Meaning: "A key can create and change only keys that may do no more than itself, in scope, grants, urgency and expiry. `detail` names everything that goes beyond, `param` the first of it.",
		Remedy:  "Ask for less, or use a key or an operator with these rights."},
	{Code: "user_protected", Status: http.StatusForbidden, Faults: []error{users.ErrProtected}, parts: []string{"username"}, Title: "The user has a role in the console",
		Meaning: "A user with a role in the console of the organization can be changed and removed only there or on the command line, not with a key.",
		Remedy:  "Leave this user out, or let an administrator change them in the console."},

	{Code: "not_found", Status: http.StatusNotFound, Default: true, Title: "It does not exist",
		Meaning: "The object that the request names does not exist.", Remedy: "Read `detail`, and check the spelling."},
	{Code: "path_not_found", Status: http.StatusNotFound, Faults: []error{web.ErrNoSuchPath}, Title: "There is nothing at this path",
		Meaning: "No call of the API has this path, or an id in it is not a positive whole number. `param` is the first part of the path that does not match.",
		Remedy:  "Compare the path with the reference; `detail` says what exists there instead. A `/` in a username is written `%2F`."},
	{Code: "organization_not_found", Status: http.StatusNotFound, Faults: []error{orgs.ErrNotFound}, parts: []string{"org"}, Title: "The organization does not exist",
		Meaning: "There is no organization with the slug in the path.", Remedy: "Use the slug, which is lower-case, not the name."},
	{Code: "project_not_found", Status: http.StatusNotFound, Faults: []error{orgs.ErrProjectNotFound}, parts: []string{"prj"}, Title: "The project does not exist",
		Meaning: "The organization exists, and has no project with the slug in the path.", Remedy: "Use the slug, not the name. The list of projects shows the slugs."},
	{Code: "application_not_found", Status: http.StatusNotFound, Faults: []error{applications.ErrNotFound}, parts: []string{"app"}, Title: "The application does not exist",
		Meaning: "The project exists, and has no application with the slug in the path.", Remedy: "Use the slug, not the name. The list of applications shows the slugs."},
	{Code: "list_not_found", Status: http.StatusNotFound, Faults: []error{lists.ErrNotFound}, parts: []string{"pk"}, Title: "The distribution list does not exist",
		Meaning: "The project exists, and has no distribution list with the id in the path.", Remedy: "Use the id, not the name. The list of distribution lists shows the ids."},
	{Code: "event_not_found", Status: http.StatusNotFound, Faults: []error{events.ErrNotFound}, parts: []string{"evt"}, Title: "The event does not exist",
		Meaning: "The application exists, and has no event with the slug in the path. Nothing was sent.", Remedy: "Use the slug, not the name. The list of events shows the slugs."},
	{Code: "notification_not_found", Status: http.StatusNotFound, Faults: []error{subscriptions.ErrNotificationNotFound}, parts: []string{"notification_pk"}, Title: "The notification does not exist",
		Meaning: "The application exists, and has no notification with the id in the path.", Remedy: "The list of notifications shows the ids."},
	{Code: "occurrence_not_found", Status: http.StatusNotFound, Faults: []error{events.ErrOccurrenceNotFound}, parts: []string{"id"}, Title: "The occurrence does not exist",
		Meaning: "The application has no occurrence with the id in the path, or it is so old that it was removed.", Remedy: "Use the number that trigger returned as `occurrence`."},
	{Code: "user_not_found", Status: http.StatusNotFound, Faults: []error{users.ErrNotFound}, parts: []string{"username", "user"}, Title: "The user does not exist",
		Meaning: "The organization exists, and has no member with this username. DELETE, unregister and unsubscribe take the username, not an e-mail address.",
		Remedy:  "Create the user first, or correct the username. A `/`, `?` or `#` in a username must be percent-encoded."},
	{Code: "user_not_registered", Status: http.StatusNotFound, Faults: []error{applications.ErrMembershipNotFound}, parts: []string{"username"}, Title: "The user is not registered",
		Meaning: "The user is a member of the organization, but is not registered with the application.", Remedy: "Register the user with the application first."},
	{Code: "address_not_found", Status: http.StatusNotFound, Faults: []error{users.ErrAddressNotFound}, parts: []string{"id"}, Title: "The address does not exist",
		Meaning: "The user exists, and has no address with the id in the path.", Remedy: "The list of the user's addresses shows the ids."},
	{Code: "channel_not_found", Status: http.StatusNotFound, Faults: []error{channels.ErrNotFound}, parts: []string{"channel"}, Title: "The channel does not exist",
		Meaning: "There is no such channel in the organization or the project.", Remedy: "The list of channels shows them."},
	{Code: "assignment_not_found", Status: http.StatusNotFound, Faults: []error{channels.ErrAssignmentNotFound}, param: "assignment", Title: "The assignment does not exist",
		Meaning: "`assignment` is the id of an address together with a channel, and there is none with this id here.", Remedy: "Register returns the ids of assignments; so does the list of a distribution list's recipients."},
	{Code: "subscription_not_found", Status: http.StatusNotFound, Faults: []error{subscriptions.ErrNotFound}, param: "assignment", Title: "The subscription does not exist",
		Meaning: "The notification exists, and the assignment is not subscribed to it.", Remedy: "If the subscription was to end, there is nothing to do: it has ended."},
	{Code: "group_not_found", Status: http.StatusNotFound, Faults: []error{orgs.ErrGroupNotFound}, parts: []string{"group"}, Title: "The group does not exist",
		Meaning: "The organization has no such group.", Remedy: "Create the group first, or correct its name."},
	{Code: "role_not_found", Status: http.StatusNotFound, Faults: []error{operators.ErrRoleNotFound}, parts: []string{"username"}, Title: "The user has no role",
		Meaning: "The user is a member of the organization, but has no role in its console.", Remedy: "Give the user a role first. The list of roles shows who has one."},
	{Code: "key_not_found", Status: http.StatusNotFound, Faults: []error{access.ErrKeyNotFound}, parts: []string{"key"}, Title: "The key does not exist",
		Meaning: "There is no key with this id in the organization.", Remedy: "The list of keys shows the ids."},
	{Code: "template_not_found", Status: http.StatusNotFound, Faults: []error{events.ErrTemplateNotFound, events.ErrVersionNotFound}, Title: "The template does not exist",
		Meaning: "There is no template, or no such version of it, for this event, notification and channel.", Remedy: "Store the template first, or choose a version from its list."},
	{Code: "partial_not_found", Status: http.StatusNotFound, Faults: []error{events.ErrPartialNotFound, events.ErrPartialVersionNotFound}, parts: []string{"name"}, Title: "The partial does not exist",
		Meaning: "The organization has no partial of this name, or no such version of it.", Remedy: "Store the partial first, or choose a version from its list."},

	{Code: "method_not_allowed", Status: http.StatusMethodNotAllowed, Default: true, Title: "The path does not have this method",
		Meaning: "The path exists, but not with this method.", Remedy: "The header `Allow` names the methods of the path. A client that follows a redirect may have turned POST into GET: check the address that it requests."},

	{Code: "request_timeout", Status: http.StatusRequestTimeout, Default: true, Title: "The body arrived too slowly",
		Meaning: "The body of the request did not arrive completely in time. Nothing was done. The connection is closed.",
		Remedy:  "Send the whole body at once. If the connection is slow, send less in one request."},

	{Code: "conflict", Status: http.StatusConflict, Default: true, Title: "Several objects match",
		Meaning: "The request names an object by a value that several objects have.", Remedy: "Name it by a value that only one has; `detail` lists the choices."},
	{Code: "user_ambiguous", Status: http.StatusConflict, Faults: []error{users.ErrAmbiguous}, parts: []string{"username", "user"}, Title: "Several members have this e-mail",
		Meaning: "The user is named by an e-mail address that several members have.", Remedy: "Name the user by the username; `detail` lists the usernames."},

	{Code: "answered_once", Status: http.StatusConflict, Faults: []error{requests.ErrShown}, param: headerIdempotencyKey, Title: "It was done, and the secret is not shown again",
		Meaning: "A request with this `Idempotency-Key` was carried out before. Its answer contained a secret, which is not stored; nothing was done again.",
		Remedy:  "If the answer was lost: find the key by its name in the list of keys and rotate it, or request another link, with a new `Idempotency-Key`."},

	{Code: "precondition_failed", Status: http.StatusPreconditionFailed, Default: true, param: headerIfMatch, Title: "The object has changed",
		Meaning: "The request has `If-Match` or `If-None-Match`, or the `version` of a template, and the object no longer matches: it was changed or removed meanwhile. Nothing was changed.",
		Remedy:  "Read the object again, decide whether the change is still right, and send it with the new `ETag` or `version`."},

	{Code: "too_large", Status: http.StatusRequestEntityTooLarge, Default: true, Title: "The request is too large",
		Meaning: "The request is larger than allowed.", Remedy: "Send less; `detail` says how much is allowed."},
	{Code: "body_too_large", Status: http.StatusRequestEntityTooLarge, Quotas: []quotas.Name{quotas.Body}, param: jsonbody.Body, Title: "The body is too large",
		Meaning: "The body has more bytes than the installation accepts in one request.", Remedy: "Send several smaller requests, such as several parts of a list of addresses."},
	{Code: "context_too_large", Status: http.StatusRequestEntityTooLarge, Quotas: []quotas.Name{quotas.ContextSize}, param: "context", Title: "The context is too large",
		Meaning: "The context of the trigger has more bytes than the organization may use for one occurrence.", Remedy: "Send the values that the templates use, and links to the rest."},

	{Code: "unsupported_media_type", Status: http.StatusUnsupportedMediaType, Default: true, param: echo.HeaderContentType, Title: "The body is not sent as JSON",
		Meaning: "A body must have the type `application/json`, in UTF-8. Forms, XML and the `+json` types are not accepted.", Remedy: "Send the header `Content-Type: application/json`."},
	{Code: "unsupported_encoding", Status: http.StatusUnsupportedMediaType, Faults: []error{errEncoding}, param: echo.HeaderContentEncoding, Title: "The body is compressed",
		Meaning: "Compressed request bodies are not accepted.", Remedy: "Send the JSON without `Content-Encoding`. Answers can be compressed: send `Accept-Encoding`."},

	{Code: "idempotency_key_reused", Status: http.StatusUnprocessableEntity, Default: true, param: headerIdempotencyKey, Title: "The Idempotency-Key belongs to another request",
		Meaning: "A request with this `Idempotency-Key` was made before with this API key, and it was a different request.",
		Remedy:  "Make a new key for each new request, such as a random UUID; send the same key again only with the same request."},

	{Code: "quota_exceeded", Status: http.StatusTooManyRequests, Default: true, Title: "A quota is used up",
		Meaning: "The organization has reached a limit; `quota` names its setting.",
		Remedy:  "Remove what is not needed, or wait until pending work has ended. The operator of the installation can raise the quota."},
	{Code: "rate_limited", Status: http.StatusTooManyRequests, Quotas: []quotas.Name{quotas.Requests, quotas.OrganizationRequests, quotas.Bodies}, Title: "Too many requests",
		Meaning: "The key, or all keys of the organization together, send more requests or bytes a second than they may; `quota` names the setting.",
		Remedy:  "Wait for as many seconds as `Retry-After` says, then send the request again. The headers `RateLimit-Policy` and `RateLimit` of every answer say what is left."},
	{Code: "too_many_auth_failures", Status: http.StatusTooManyRequests, Quotas: []quotas.Name{quotas.AuthFailures}, param: echo.HeaderAuthorization, Title: "Too many invalid keys",
		Meaning: "Too many requests without a valid key came from this address, so the key of this request was not checked.",
		Remedy:  "Wait for as many seconds as `Retry-After` says, and look for the client that uses an old or mistyped key."},

	{Code: "header_too_large", Status: http.StatusRequestHeaderFieldsTooLarge, Default: true, Title: "The headers are too large",
		Meaning: "The headers of the request have more than 64 KiB together. The connection is closed.", Remedy: "Look for cookies or tracing headers that a proxy or a browser adds."},

	{Code: "internal_error", Status: http.StatusInternalServerError, Default: true, Title: "The service failed",
		Meaning: "An error occurred in the service. Its log has the details, under `request_id`.", Remedy: "Report the `request_id` to the operator of the installation. A trigger with an `Idempotency-Key` can be sent again without risk."},

	{Code: "unsupported_transfer_encoding", Status: http.StatusNotImplemented, Default: true, Title: "The transfer encoding is not supported",
		Meaning: "`Transfer-Encoding` may be `chunked`, and nothing else. The connection is closed.", Remedy: "Send `Content-Length`, or `Transfer-Encoding: chunked`."},

	{Code: "unavailable", Status: http.StatusServiceUnavailable, Default: true, Title: "The service cannot answer now",
		Meaning: "A service that it depends on, such as its database, is temporarily unavailable.",
		Remedy:  "Send the request again after as many seconds as `Retry-After` says, with growing pauses. Send triggers with an `Idempotency-Key`, so that nothing is sent twice."},
	{Code: "maintenance", Status: http.StatusServiceUnavailable, Faults: []error{installation.ErrReadOnly}, Title: "The service is read-only for maintenance",
		Meaning: "The operator of the service has switched off all changes for a while. Reading still works, and nothing was changed. `detail` repeats the operator's message.",
		Remedy:  "Send the request again after as many seconds as `Retry-After` says; a request with an `Idempotency-Key` can be repeated unchanged."},
	{Code: "overloaded", Status: http.StatusServiceUnavailable, Faults: []error{admission.ErrOverloaded}, Title: "There are too many requests",
		Meaning: "All clients together send more requests than can be served. This one would have waited too long, and was not started.",
		Remedy:  "Send it again after as many seconds as `Retry-After` says, with growing pauses. If this continues, tell the operator of the installation."},
	{Code: "timeout", Status: http.StatusServiceUnavailable, Faults: timeouts, Title: "The answer took too long",
		Meaning: "The service gave up on the request after a while. It is unknown whether the request was carried out.", Remedy: "Send it again after a pause; triggers with the same `Idempotency-Key`."},
	{Code: "not_ready", Status: http.StatusServiceUnavailable, Faults: []error{errNotReady}, Title: "The instance is not ready",
		Meaning: "`/readyz` answers this while an instance starts, stops, or cannot use its database.", Remedy: "Send requests to another instance. `/readyz?verbose` lists what was checked."},
	{Code: "not_alive", Status: http.StatusServiceUnavailable, Faults: []error{errNotAlive}, Title: "The instance hangs",
		Meaning: "`/healthz` answers this when work inside the instance has stopped.", Remedy: "Restart the instance."},

	{Code: "unsupported_http_version", Status: http.StatusHTTPVersionNotSupported, Default: true, Title: "The HTTP version is not supported",
		Meaning: "The service speaks HTTP/1.1. The connection is closed.", Remedy: "Use HTTP/1.1, or put a proxy for newer versions in front of the service."},
}
