package console

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/domain/users"
)

// memberColumns are the columns of an export: those that an import reads, and more.
var memberColumns = slices.Concat([]string{"username"}, users.DetailNames(), []string{"role", "locked", "groups", "custom_fields"})

// exportMembers sends all members that match the filter of the page.
func (c call) exportMembers() error {
	filter, err := url.ParseQuery(c.FormValue("back"))
	if err != nil {
		return errForm
	}
	q := memberQuery(sanitizeValues(filter))
	file := c.download("users-"+web.Param(c, "org")+".csv", "text/csv; charset=utf-8")
	out := newCSVWriter(file)
	if err := out.row(memberColumns...); err != nil {
		return err
	}
	// Each batch is bounded; the total time depends on the size of the organization.
	err = c.console.use.Members.Export(c.Request().Context(), c.actor(), c.at(), q, func(ms []users.Member) error {
		for _, m := range ms {
			fields, err := m.CustomFields.Encode()
			if err != nil {
				return err
			}
			row := []string{m.User.Username}
			for _, d := range m.List() {
				row = append(row, *d.Value)
			}
			row = append(row, string(m.Role), strconv.FormatBool(m.Locked), strings.Join(m.Groups, ", "), string(fields))
			if err := out.row(row...); err != nil {
				return err
			}
		}
		return out.flush()
	})
	if err != nil {
		return err
	}
	return file.finish()
}
