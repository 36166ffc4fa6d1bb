package console

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/quotas"
	"github.com/tocsin/tocsin/domain/users"
)

const pageTeam = 100

// settingsPageView is the overview of an organization's settings pages and quotas.
type settingsPageView struct {
	Pages  []settingsLink
	Quotas []quotaView
}

type settingsLink struct {
	link

	About words.Phrase
}

// quotaView is a quota for display.
type quotaView struct {
	What  words.Phrase
	Used  words.Phrase // empty: it is not counted
	Limit words.Phrase
}

// settingsAbout describes the settings pages, by their names.
var settingsAbout = map[string]words.Phrase{
	"Projects and sign-in":     words.Of("Projects, the organization's name, the region of phone numbers, the second factor"),
	"This project":             words.Of("Its applications, lists and channels, and its name"),
	"Applications":             words.Of("The applications of the project"),
	"This application":         words.Of("Its name, whether it is active"),
	"Team":                     words.Of("Who may sign in, and with which role"),
	"API keys":                 words.Of("Keys for applications that use the API"),
	"Audit log":                words.Of("Who changed what, and when"),
	"Organizations":            words.Of("All organizations of the installation"),
	"Installation's API keys":  words.Of("Keys that reach every organization"),
	"Installation's audit log": words.Of("Accounts, sign-ins and changes to the whole installation"),
	"System":                   words.Of("Version, database, workers, queue, configuration"),
}

// quotaWords describe the quotas.
var quotaWords = map[quotas.Name]words.Phrase{
	quotas.Requests: words.Of("Requests a second of one API key"), quotas.OrganizationRequests: words.Of("Requests a second of all API keys"), quotas.Bodies: words.Of("Bytes a second that all API keys send"),
	quotas.DryRuns: words.Of("Dry runs and previews at once"), quotas.ChannelTests: words.Of("Tests of channels at once"), quotas.LargeAnswers: words.Of("Large answers read at once"), quotas.ContextSize: words.Of("Bytes of one context"), quotas.Contexts: words.Of("Bytes of all contexts"), quotas.Channels: words.Of("Channels"), quotas.Keys: words.Of("API keys"),
	quotas.Lists: words.Of("Distribution lists"), quotas.Groups: words.Of("Groups"), quotas.Projects: words.Of("Projects"), quotas.Applications: words.Of("Applications"), quotas.Events: words.Of("Events"), quotas.Imports: words.Of("Imports under way"),
}

func (c call) showSettings() error {
	found, err := c.console.use.Orgs.Quotas(c.ctx, c.at())
	if err != nil {
		return err
	}
	v := settingsPageView{}
	for _, l := range (view{call: c}).settingsPages(c.loadFrame().location) {
		v.Pages = append(v.Pages, settingsLink{l, settingsAbout[fmt.Sprint(l.Text)]})
	}
	for _, q := range found {
		shown := quotaView{What: quotaWords[q.Name], Limit: words.Of("no limit")}
		if q.Counted {
			shown.Used = words.Of("%d", int(q.Used))
		}
		if q.Limit > 0 {
			shown.Limit = words.Of("%v", q.Limit)
			if whole := int(q.Limit); float64(whole) == q.Limit {
				shown.Limit = words.Of("%d", whole)
			}
		}
		v.Quotas = append(v.Quotas, shown)
	}
	return c.render(http.StatusOK, "settings", words.Of("Settings"), v)
}

// teamView is the members with a role in an organization.
type teamView struct {
	Members []operators.GrantedRole
	Next    users.MemberID // 0: no more
}

func (c call) showTeam() error {
	found, err := c.console.use.Administration.Roles(c.ctx, c.at(), app.Page{After: c.number("after"), Limit: pageTeam + 1})
	if err != nil {
		return err
	}
	var v teamView
	v.Members, v.Next = paged(found, pageTeam, func(a operators.GrantedRole) users.MemberID { return a.Member })
	return c.render(http.StatusOK, "team", words.Of("Team"), v)
}

// signInMethods lists how a user can sign in; empty: they cannot yet.
func signInMethods(l *words.Language, w operators.SignInMethods) string {
	var all []string
	for _, way := range []struct {
		is   bool
		text words.Phrase
	}{{w.Password, words.Of("password")}, {w.Codes, words.Of("codes of an app")}, {w.Passkey, words.Of("passkey")}, {w.SignOn, words.Of("single sign-on")}} {
		if way.is {
			all = append(all, l.TranslatePhrase(way.text))
		}
	}
	return strings.Join(all, ", ")
}
