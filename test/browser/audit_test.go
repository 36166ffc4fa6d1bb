package browser_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// downloaded returns the content of the file that a link downloads.
func (t *tab) downloaded(role, name string) string {
	t.Helper()
	text, err := os.ReadFile(t.download(role, name))
	require.NoError(t, err)
	return string(text)
}

func TestSearchAndExportAuditLog(t *testing.T) {
	t.Parallel()
	withAndWithoutScripts(t, func(w *world, p *tab) {
		w.member("ada.lovelace@example.com", "Ada", "Lovelace")
		p.clickThrough(link, "Acme Inc.")
		p.menu("People")
		p.clickThrough(link, "Ada Lovelace")
		p.flip("Lock in the organization")
		p.menu("Settings", "Audit log")
		p.sees("member.lock", "member.create", "browser key 1", "after: yes")

		p.fill("Any word", "lock ada")
		p.clickThrough(button, "Search")
		p.sees("member.lock")
		p.unfold("More filters")
		p.choose("Through", "console")
		p.fill("Action begins with", "member.")
		p.fill("Object begins with", "acme/u/ada")
		p.clickThrough(button, "Search")
		p.sees("member.lock", root, "127.0.0.1")
		p.doesNotSee("member.create")

		sheet := p.downloaded(button, "Export as CSV")
		assert.Contains(p, sheet, "member.lock,acme/u/ada.lovelace@example.com")
		assert.NotContains(p, sheet, "member.create")
		var entry struct{ Action, Actor, Via, Address string }
		require.NoError(p, json.Unmarshal([]byte(p.downloaded(button, "Export as JSON lines")), &entry), "and another export from the same page")
		assert.Equal(p, "member.lock by root, console 127.0.0.1", entry.Action+" by "+entry.Actor+", "+entry.Via+" "+entry.Address)

		p.fill("Who", "nobody")
		p.clickThrough(button, "Search")
		p.sees("No entries match.")
		p.expectComplaint("400")
		p.expectComplaint("does not conform") // The date field is empty then.
		p.open("/console/o/acme/audit/?from=yesterday")
		p.sees("must be a day such as")
		p.open("/console/o/acme/audit/?action=audit.")
		assert.Equal(p, 2, strings.Count(eval[string](p, "document.querySelector('tbody').innerText"), "audit.export"))
	})
}
