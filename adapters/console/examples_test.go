package console_test

import (
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app"
)

// example is the request of a route in the test of rights: a form or a query that the route takes
// from a user with the right.
type example struct {
	query  string
	fields []string
	// send asks in a way of its own, where a form of fields is not enough.
	send func(b *browser, to string) answer
}

// examples has an example for every route that changes something or needs a query.
var examples = map[string]example{
	"POST /console/sign-in/":              {fields: []string{"username", "root", "password", password}},
	"POST /console/sign-out/":             {},
	"POST /console/organizations/":        {fields: []string{"slug", "initech", "name", "Initech"}},
	"POST /console/o/{org}/region/":       {fields: []string{"default_region", "de"}},
	"POST /console/o/{org}/searchable/":   {fields: []string{"searchable_metadata", "plan"}},
	"POST /console/o/{org}/snooze/":       {fields: []string{"problem", "channel/1", "for", "1h"}},
	"POST /console/o/{org}/name/":         {fields: []string{"organization", "Acme"}},
	"POST /console/o/{org}/projects/":     {fields: []string{"slug", "blog", "name", "Blog"}},
	"POST /console/o/{org}/p/{prj}/name/": {fields: []string{"name", "Store"}},
	"POST /console/account/language/":     {fields: []string{"language", "de"}},
	"POST /console/account/password/":     {fields: change(password)},
	"POST /console/account/sessions/end/": {send: func(b *browser, to string) answer {
		found := sessionOf.FindStringSubmatch(b.get("/console/account/").body)
		if found == nil {
			return b.post(to)
		}
		return b.post(to, "session", found[1])
	}},
	"GET /console/sign-in/sso/callback/":                             {send: cameBack},
	"POST /console/sign-in/sso/logout/":                              {fields: []string{"logout_token", "a token"}},
	"POST /console/sign-in/second-factor/":                           {fields: []string{"code", "123456"}},
	"POST /console/account/second-factor/app/":                       {},
	"POST /console/account/second-factor/app/confirm/":               {send: appConfirmed},
	"POST /console/account/second-factor/app/remove/":                {send: withApp},
	"POST /console/account/second-factor/codes/":                     {send: withApp},
	"POST /console/o/{org}/second-factor/":                           {fields: []string{"on", "false"}},
	"POST /console/sign-in/passkey/ask/":                             {},
	"POST /console/sign-in/passkey/":                                 {},
	"POST /console/sign-in/second-factor/passkey/ask/":               {},
	"POST /console/sign-in/second-factor/passkey/":                   {},
	"POST /console/account/passkey/ask/":                             {send: withPasskey},
	"POST /console/account/second-factor/passkeys/":                  {},
	"POST /console/account/second-factor/passkeys/confirm/":          {send: passkeyConfirmed},
	"POST /console/account/second-factor/passkeys/{passkey}/name/":   {send: withPasskey},
	"POST /console/account/second-factor/passkeys/{passkey}/remove/": {send: withPasskey},
	"POST /console/welcome/{token}/":                                 {fields: []string{"password", newPassword, "again", newPassword}},
	"POST /console/welcome/{token}/passkey/":                         {},
	"POST /console/welcome/{token}/passkey/confirm/":                 {send: joined},
	"POST /console/o/{org}/u/{member}/access/role/":                  {fields: []string{"role", "viewer"}},
	"POST /console/o/{org}/u/{member}/access/invite/": {send: func(b *browser, to string) answer {
		b.post(strings.Replace(to, "/invite/", "/role/", 1), "role", "viewer")
		return b.post(to)
	}},
	"POST /console/audit/export/":         {fields: []string{"as", "csv"}},
	"POST /console/o/{org}/audit/export/": {fields: []string{"as", "jsonl"}},

	"POST /console/o/{org}/u/new/":                                      {fields: []string{"email", "new@example.org", "custom_fields", "{}"}},
	"POST /console/o/{org}/u/export/":                                   {},
	"POST /console/o/{org}/u/selection/":                                {send: chosen("action", "lock")},
	"POST /console/o/{org}/u/selection/remove/":                         {send: chosen()},
	"POST /console/o/{org}/u/{member}/names/":                           {fields: []string{"first_name", "Augusta"}},
	"POST /console/o/{org}/u/{member}/metadata/":                        {fields: []string{"custom_fields", "{}"}},
	"POST /console/o/{org}/u/{member}/remove/":                          {},
	"POST /console/o/{org}/u/{member}/groups/":                          {send: grouped},
	"POST /console/o/{org}/u/{member}/groups/remove/":                   {send: grouped},
	"POST /console/o/{org}/u/{member}/addresses/new/":                   {fields: []string{"value", "+14155552671"}},
	"POST /console/o/{org}/u/{member}/addresses/{address}/assign/":      {send: assigned},
	"POST /console/o/{org}/u/{member}/addresses/{address}/remove/":      {},
	"POST /console/o/{org}/u/{member}/assignments/{assignment}/":        {fields: []string{"active", "false", "validated", "true"}},
	"POST /console/o/{org}/u/{member}/assignments/{assignment}/remove/": {},
	"POST /console/o/{org}/groups/":                                     {fields: []string{"name", "Board"}},
	"POST /console/o/{org}/groups/{group}/":                             {fields: []string{"name", "Board"}},
	"POST /console/o/{org}/groups/{group}/delete/":                      {},
	"POST /console/o/{org}/u/{member}/locked/":                          {fields: []string{"on", "true"}},
	"POST /console/o/{org}/u/{member}/p/{prj}/a/{app}/locked/":          {fields: []string{"on", "true"}},
	"POST /console/o/{org}/u/{member}/p/{prj}/a/{app}/notifications/":   {fields: []string{"on", "true"}},
	"GET /console/o/{org}/p/{prj}/a/{app}/occurrences/{id}/explain/":    {query: "?user=ada"},
	"POST /console/o/{org}/p/{prj}/a/{app}/occurrences/{id}/retry/":     {},
	"POST /console/o/{org}/p/{prj}/a/{app}/occurrences/{id}/cancel/":    {},
	"POST /console/o/{org}/imports/": {send: func(b *browser, to string) answer {
		return b.upload(to, b.token(), "people.csv", "email\n")
	}},
	"POST /console/o/{org}/imports/{import}/columns/":     {fields: []string{"field-0", "email"}},
	"POST /console/o/{org}/imports/{import}/corrections/": {send: importAndCorrect},
	"POST /console/o/{org}/imports/{import}/start/":       {},
	"POST /console/o/{org}/imports/{import}/cancel/":      {},
	"POST /console/o/{org}/imports/{import}/undo/":        {send: importAndUndo},

	"POST /console/o/{org}/p/{prj}/a/{app}/occurrences/{id}/d/{delivery}/retry/": {},
	"POST /console/o/{org}/p/{prj}/d/":                                           {fields: []string{"name", "New"}},
	"POST /console/o/{org}/p/{prj}/d/{list}/":                                    {fields: []string{"name", "Renamed"}},
	"POST /console/o/{org}/p/{prj}/d/{list}/delete/":                             {},
	"POST /console/o/{org}/p/{prj}/d/{list}/add/":                                {fields: []string{"emails", "ada@example.org"}},
	"POST /console/o/{org}/p/{prj}/d/{list}/members/":                            {send: func(b *browser, to string) answer { return b.post(to, "member", b.f.id("ada")) }},
	"POST /console/o/{org}/p/{prj}/d/{list}/remove/":                             {fields: []string{"only", "1"}},

	"POST /console/o/{org}/p/{prj}/a/":                {fields: []string{"slug", "new", "name", "New"}},
	"POST /console/o/{org}/p/{prj}/a/{app}/settings/": {fields: []string{"name", "Renamed", "active", "true"}},
	"POST /console/o/{org}/p/{prj}/a/{app}/delete/": {send: func(b *browser, to string) answer {
		b.post("/console/o/acme/p/shop/a/", "slug", "spare", "name", "Spare")
		return b.post(strings.Replace(to, "/web/", "/spare/", 1))
	}},
	"POST /console/o/{org}/p/{prj}/a/{app}/m/":                                  {fields: []string{"username", "new"}},
	"POST /console/o/{org}/p/{prj}/a/{app}/m/{member}/unregister/":              {},
	"POST /console/o/{org}/p/{prj}/a/{app}/m/{member}/locked/":                  {fields: []string{"on", "true"}},
	"POST /console/o/{org}/p/{prj}/a/{app}/m/{member}/notifications/":           {fields: []string{"on", "false"}},
	"POST /console/o/{org}/p/{prj}/a/{app}/e/{evt}/trigger/":                    {fields: []string{"context", "{}"}},
	"POST /console/o/{org}/p/{prj}/a/{app}/e/{evt}/trigger/html/":               {send: checkAndShow},
	"POST /console/o/{org}/p/{prj}/a/{app}/e/{evt}/trigger/send/":               {send: tryAndSend},
	"POST /console/o/{org}/p/{prj}/a/{app}/n/{notification}/subscriptions/":     {fields: []string{"assignment", "1", "active", "true"}},
	"POST /console/o/{org}/p/{prj}/a/{app}/n/{notification}/opt-outs/withdraw/": {send: func(b *browser, to string) answer { return b.post(to, "member", b.f.id("ada"), "address", "x") }},

	"POST /console/o/{org}/keys/":              {fields: []string{"name", "new", "grant", "user:read"}},
	"POST /console/o/{org}/keys/{key}/rotate/": {fields: []string{"overlap", "1h"}},
	"POST /console/o/{org}/keys/{key}/revoke/": {},
	"POST /console/keys/":                      {fields: []string{"name", "new", "grant", "user:read"}},
	"POST /console/keys/{key}/rotate/":         {fields: []string{"overlap", "1h"}},
	"POST /console/keys/{key}/revoke/":         {},
}

// chosen sends a form about ada as the chosen user.
func chosen(fields ...string) func(b *browser, to string) answer {
	return func(b *browser, to string) answer {
		return b.post(to, append(fields, "member", idText(b.f.memberNamed("ada").ID))...)
	}
}

// grouped sends a form about a group that ada is not in.
func grouped(b *browser, to string) answer { return b.post(to, "group", idText(b.f.group("Staff").ID)) }

// assigned sends a form about the channel that ada's address is assigned to already.
func assigned(b *browser, to string) answer {
	held, err := b.f.use.Members.Show(b.f.Context(), app.Path{Organization: "acme"}, b.f.memberNamed("ada").ID)
	require.NoError(b.f, err)
	return b.post(to, "channel", idText(held.Channels[0].ID))
}
