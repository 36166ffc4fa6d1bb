package console

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/quotas"
	"github.com/tocsin/tocsin/domain/users"
)

const pageTeam = 100

// settingsPageView is what the settings of an organization lead to, and its quotas.
type settingsPageView struct {
	Pages  []settingsLink
	Quotas []quotaView
}

type settingsLink struct {
	link

	About string
}

// quotaView is a quota in words.
type quotaView struct{ What, Used, Limit string }

// settingsAbout says what the pages of the settings are for, by their texts.
var settingsAbout = map[string]string{
	"Projects and sign-in":     "Projects, the organization's name, the region of phone numbers, the second factor",
	"This project":             "Its applications, lists and channels, and its name",
	"Applications":             "The applications of the project",
	"This application":         "Its name, whether it is active",
	"Team":                     "Who may sign in, and with which role",
	"API keys":                 "Keys with which applications use the API",
	"Audit log":                "Who changed what, and when",
	"Organizations":            "All organizations of the installation",
	"Installation's API keys":  "Keys that reach every organization",
	"Installation's audit log": "Accounts, signing in, and what is about the whole installation",
	"System":                   "Version, database, workers, queue, configuration",
}

// quotaWords say what a quota is about.
var quotaWords = map[quotas.Name]string{
	quotas.Requests: "Requests a second of one API key", quotas.OrganizationRequests: "Requests a second of all API keys", quotas.Bodies: "Bytes a second that all API keys send",
	quotas.DryRuns: "Dry runs at once", quotas.ContextSize: "Bytes of one context", quotas.Contexts: "Bytes of all contexts", quotas.Channels: "Channels", quotas.Keys: "API keys",
	quotas.Lists: "Distribution lists", quotas.Groups: "Groups", quotas.Projects: "Projects", quotas.Applications: "Applications", quotas.Events: "Events", quotas.Imports: "Imports under way",
}

func (c call) showSettings() error {
	found, err := c.console.use.Orgs.Quotas(c.ctx, c.at())
	if err != nil {
		return err
	}
	v := settingsPageView{}
	for _, l := range (view{call: c}).settingsPages(c.around().place) {
		v.Pages = append(v.Pages, settingsLink{l, settingsAbout[l.Text]})
	}
	for _, q := range found {
		shown := quotaView{What: quotaWords[q.Name], Limit: "no limit"}
		if q.Counted {
			shown.Used = count(int(q.Used))
		}
		if q.Limit > 0 {
			shown.Limit = strconv.FormatFloat(q.Limit, 'f', -1, 64)
			if whole := int(q.Limit); float64(whole) == q.Limit {
				shown.Limit = count(whole)
			}
		}
		v.Quotas = append(v.Quotas, shown)
	}
	return c.render(http.StatusOK, "settings", "Settings", v)
}

// teamView is those who have a role in an organization.
type teamView struct {
	People []operators.Appointment
	Next   users.MemberID // 0: no more
}

func (c call) showTeam() error {
	found, err := c.console.use.Administration.Roles(c.ctx, c.at(), app.Page{After: c.number("after"), Limit: pageTeam + 1})
	if err != nil {
		return err
	}
	var v teamView
	v.People, v.Next = paged(found, pageTeam, func(a operators.Appointment) users.MemberID { return a.Member })
	return c.render(http.StatusOK, "team", "Team", v)
}

// waysOf says how somebody can sign in; empty: in no way yet.
func waysOf(w operators.Ways) string {
	var all []string
	for _, way := range []struct {
		is   bool
		text string
	}{{w.Password, "password"}, {w.Codes, "codes of an app"}, {w.Passkey, "passkey"}, {w.SignOn, "single sign-on"}} {
		if way.is {
			all = append(all, way.text)
		}
	}
	return strings.Join(all, ", ")
}
