package rows

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tocsin/tocsin/ports"
)

// ownerPath is how the rows of a table refer to their organization: directly, or through a parent
// table.
type ownerPath struct {
	column string
	parent string // empty: the column is the number of the organization
	key    string // the parent's column that has the same value; empty: id
	where  string // the SQL condition for rows with this path; empty: all rows
}

// ownerPaths are the tables with rows of an organization, and the paths to it. The column of a path
// is the first one of an index. No row has two paths. Every table is here, in installationTables or
// in uncopiedTables.
var ownerPaths = map[string][]ownerPath{
	"organizations": {{column: "id"}},

	"addresses":          {{column: "organization_id"}},
	"api_keys":           {{column: "organization_id"}},
	"applications":       {{column: "organization_id"}},
	"audit_entries":      {{column: "organization_id"}},
	"channels":           {{column: "organization_id"}},
	"distribution_lists": {{column: "organization_id"}},
	"hourly_statistics":  {{column: "organization_id"}},
	"import_mappings":    {{column: "organization_id"}},
	"imports":            {{column: "organization_id"}},
	"mailbox_messages":   {{column: "organization_id"}},
	"member_groups":      {{column: "organization_id"}},
	"members":            {{column: "organization_id"}},
	"partials":           {{column: "organization_id"}},
	"problem_snoozes":    {{column: "organization_id"}},
	"projects":           {{column: "organization_id"}},

	// These also have an organization_id, but no index that starts with it.
	"assignments":        {{column: "address_id", parent: "addresses"}},
	"occurrence_tallies": {{column: "occurrence_id", parent: "occurrences"}},
	"occurrences":        {{column: "application_id", parent: "applications"}},

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
	"partial_partials":        {{column: "partial_id", parent: "partials"}},
	"partial_versions":        {{column: "partial_id", parent: "partials"}},
	"subscriptions":           {{column: "notification_id", parent: "notifications"}},
	"template_partials":       {{column: "template_id", parent: "templates"}},
	"template_versions":       {{column: "template_id", parent: "templates"}},
	"templates": {
		{column: "event_id", parent: "events"},
		{column: "notification_id", parent: "notifications"},
	},
	"requests": { // The requests of the installation's keys are not copied, like these keys.
		{column: "api_key_id", parent: "api_keys"},
		{column: "occurrence_id", parent: "occurrences", where: "api_key_id = 0"},
	},
	"users": {{column: "id", parent: "members", key: "user_id"}}, // a user may be in several organizations
}

// installationTables are the tables that are not copied with an organization: those about how users
// sign in, because a user may have roles in several organizations, and those of the search index,
// which is built again.
var installationTables = []string{
	"acceptances", "accounts", "devices", "guesses", "identities", "invitations", "logout_tokens", "passkeys", "provider_sessions",
	"recovery_codes", "sessions", "sign_in_steps", "totp_factors",
	"member_words", "member_words_builds", "member_words_notes", "word_builds",
}

// Part returns only the rows of one organization.
func (r *Rows) Part(organization int64) *Rows {
	part := r.On(r.conn)
	part.organization = organization
	part.tables = slices.DeleteFunc(slices.Clone(r.tables), func(t ports.Table) bool { return slices.Contains(installationTables, t.Name) })
	return part
}

// step is a table on the path from an organization to a table.
type step struct {
	table string
	ownerPath
}

// pathsTo returns the paths from an organization to a table.
func pathsTo(table string) (all [][]step, err error) {
	ways, known := ownerPaths[table]
	if !known {
		return nil, fmt.Errorf("the table %s is in none of ownerPaths, installationTables and uncopiedTables", table)
	}
	for _, w := range ways {
		above := [][]step{nil}
		if w.parent != "" {
			if above, err = pathsTo(w.parent); err != nil {
				return nil, err
			}
		}
		for _, steps := range above {
			all = append(all, append(slices.Clone(steps), step{table, w}))
		}
	}
	return all, nil
}

// statements returns the statements that read the rows of a table that belong to the organization,
// one for each path. Each starts at the organization and joins the tables by their indexes, so that
// it does not read rows of others.
func (r *Rows) statements(t ports.Table) (all []string, err error) {
	ways, err := pathsTo(t.Name)
	for _, steps := range ways {
		all = append(all, selected(t)+" FROM "+r.joined(steps))
	}
	return all, err
}

// joined returns the tables of a path, joined in this order. The last one has the alias t.
func (r *Rows) joined(steps []step) string {
	var tables, conditions []string
	for i, s := range steps {
		name, value := "t", strconv.FormatInt(r.organization, 10)
		if below := len(steps) - 1 - i; below > 0 {
			name = "p" + strconv.Itoa(below)
		}
		if i > 0 {
			value = "p" + strconv.Itoa(len(steps)-i) + "." + quoted(cmp.Or(s.key, "id"))
		}
		condition := quoted(s.column) + " = " + value
		if !r.postgres {
			condition = name + "." + condition
		}
		if s.where != "" {
			condition += " AND " + s.where
		}
		if r.postgres { // OFFSET prevents the planner from reordering the joins.
			tables = append(tables, "LATERAL (SELECT * FROM "+quoted(s.table)+" WHERE "+condition+" OFFSET 0) "+name)
		} else {
			tables = append(tables, quoted(s.table)+" "+name)
			conditions = append(conditions, condition)
		}
	}
	from := strings.Join(tables, " CROSS JOIN ")
	if len(conditions) > 0 {
		from += " WHERE " + strings.Join(conditions, " AND ")
	}
	return from
}
