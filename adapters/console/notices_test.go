package console_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/adapters/console"
	"github.com/tocsin/tocsin/app/health"
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

// TestFailingChecksAreShown checks that pages tell administrators of the installation, and nobody
// else, that the instance cannot write.
func TestFailingChecksAreShown(t *testing.T) {
	t.Parallel()
	checks := []health.Check{{Name: "the database answers, and its schema is the right one"}, {Name: "the database takes writes", Err: fmt.Errorf("%w: /var/lib", ports.ErrFull)}}
	f := newFixture(t, func(o *console.Options) { o.LatestChecks = func(context.Context) []health.Check { return checks } })
	ada, root := f.as(f.operator("ada", users.RoleAdministrator)), f.as(f.account("root", true))
	const banner = "A check of this instance fails: the database takes writes : the disk of the database is full . System shows more."
	for _, path := range []string{"/console/", "/console/o/acme/"} {
		assert.Contains(t, root.get(path).is(t, http.StatusOK).text(), banner, path)
		assert.NotContains(t, ada.get(path).text(), "A check of this instance", path)
	}
	root.header = http.Header{"Accept-Language": {"de"}}
	assert.Contains(t, root.get("/console/").text(), "die Datenbank nimmt Änderungen an : der Datenträger der Datenbank ist voll")
	root.header, checks = nil, checks[:1]
	assert.NotContains(t, root.get("/console/").text(), "A check of this instance")
}
