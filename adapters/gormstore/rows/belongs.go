package rows

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tocsin/tocsin/ports"
)

// way leads from the rows of a table to their organization.
type way struct {
	column string
	parent string // empty: the column holds the number of the organization
	key    string // the parent's column that has the same value; empty: id
	where  string // which rows go this way; empty: all
}

// belongs are the tables of which rows are of an organization, with the ways there. Every table is
// here, in stays or in left.
var belongs = map[string][]way{
	"organizations": {{column: "id"}},

	"addresses":          {{column: "organization_id"}},
	"api_keys":           {{column: "organization_id"}},
	"applications":       {{column: "organization_id"}},
	"assignments":        {{column: "organization_id"}},
	"audit_entries":      {{column: "organization_id"}},
	"channels":           {{column: "organization_id"}},
	"distribution_lists": {{column: "organization_id"}},
	"hourly_statistics":  {{column: "organization_id"}},
	"import_mappings":    {{column: "organization_id"}},
	"imports":            {{column: "organization_id"}},
	"mailbox_messages":   {{column: "organization_id"}},
	"member_groups":      {{column: "organization_id"}},
	"members":            {{column: "organization_id"}},
	"occurrence_tallies": {{column: "organization_id"}},
	"occurrences":        {{column: "organization_id"}},
	"problem_snoozes":    {{column: "organization_id"}},
	"projects":           {{column: "organization_id"}},

	"application_locks":       {{column: "member_id", parent: "members"}},
	"application_memberships": {{column: "member_id", parent: "members"}},
	"channel_usage":           {{column: "channel_id", parent: "channels"}},
	"cancellations":           {{column: "occurrence_id", parent: "occurrences"}},
	"channel_hours":           {{column: "channel_id", parent: "channels"}},
	"deliveries":              {{column: "occurrence_id", parent: "occurrences"}},
	"event_channels":          {{column: "event_id", parent: "events"}},
	"event_pools":             {{column: "event_id", parent: "events"}},
	"events":                  {{column: "application_id", parent: "applications"}},
	"import_creations":        {{column: "import_id", parent: "imports"}},
	"import_pieces":           {{column: "import_id", parent: "imports"}},
	"import_rejects":          {{column: "import_id", parent: "imports"}},
	"list_entries":            {{column: "list_id", parent: "distribution_lists"}},
	"member_group_links":      {{column: "member_id", parent: "members"}},
	"notifications":           {{column: "application_id", parent: "applications"}},
	"opt_outs":                {{column: "member_id", parent: "members"}},
	"subscriptions":           {{column: "notification_id", parent: "notifications"}},
	"template_versions":       {{column: "template_id", parent: "templates"}},
	"templates": {
		{column: "event_id", parent: "events"},
		{column: "notification_id", parent: "notifications"},
	},
	"requests": { // Those of keys of the installation stay, as the keys do.
		{column: "api_key_id", parent: "api_keys"},
		{column: "occurrence_id", parent: "occurrences", where: "api_key_id = 0"},
	},
	"users": {{column: "id", parent: "members", key: "user_id"}}, // who may be in several
}

// stays are the tables that belong to an installation: how people sign in, who may open several
// organizations with one account, and what is made anew where it is missing.
var stays = []string{
	"acceptances", "accounts", "devices", "guesses", "identities", "invitations", "logout_tokens", "passkeys", "provider_sessions",
	"recovery_codes", "sessions", "sign_in_steps", "totp_factors",
	"member_words", "member_words_builds", "member_words_notes",
}

// Part returns the rows of one organization alone.
func (r *Rows) Part(organization int64) *Rows {
	part := r.On(r.conn)
	part.organization = organization
	part.tables = slices.DeleteFunc(slices.Clone(r.tables), func(t ports.Table) bool { return slices.Contains(stays, t.Name) })
	return part
}

// condition says which rows of a table are of the organization, under the name by which a query
// calls the table.
func (r *Rows) condition(table, alias string) (string, error) {
	ways, known := belongs[table]
	if !known {
		return "", fmt.Errorf("nobody knows to whom the rows of %s belong", table)
	}
	some := make([]string, len(ways))
	for i, w := range ways {
		some[i] = fmt.Sprintf("%s.%s = %d", alias, quoted(w.column), r.organization)
		if w.parent != "" {
			parent, key := alias+"p", "id"
			if w.key != "" {
				key = w.key
			}
			above, err := r.condition(w.parent, parent)
			if err != nil {
				return "", err
			}
			some[i] = fmt.Sprintf("EXISTS (SELECT 1 FROM %s %s WHERE %s.%s = %s.%s AND %s)", quoted(w.parent), parent, parent, quoted(key), alias, quoted(w.column), above)
		}
		if w.where != "" {
			some[i] = "(" + alias + "." + w.where + " AND " + some[i] + ")"
		}
	}
	return "(" + strings.Join(some, " OR ") + ")", nil
}
