package console_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/domain/installation"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// TestReadOnlyNotice checks that the operator's message stays a sentence.
func TestReadOnlyNotice(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{"Back at noon.": "Back at noon.", "Back soon!": "Back soon!", "Back at noon": "Back at noon."} {
		f := newFixture(t)
		b := f.as(f.operator("ada", users.RoleAdministrator))
		f.update(func(tx ports.Tx) error {
			return tx.Installation().SetState(t.Context(), installation.State{ReadOnly: morning, Notice: message})
		})
		assert.Contains(t, b.get("/console/").is(t, http.StatusOK).text(), "The installation is read-only for maintenance: "+want+" You can read pages")
		b.header = http.Header{"Accept-Language": {"de"}}
		assert.Contains(t, b.get("/console/").text(), "Die Installation ist wegen Wartung schreibgeschützt: "+want+" Seiten können gelesen")
	}
}
