package console_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/adapters/console"
)

// pages returns all pages of a scene, as an administrator of the installation sees them, by path.
func (s *scene) pages(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	b := s.as(s.accounts["root"])
	for _, r := range console.Routes() {
		if r.Method == http.MethodGet {
			path := s.path(t, r)
			all[path] = b.get(path).body
		}
	}
	list := shop + "d/" + s.listNamed("acme", "all") + "/" // That of the scene has no recipients.
	all[list] = b.get(list).is(t, http.StatusOK).body
	all["a new key"] = b.post("/console/keys/", "name", "shown", "grant", "user:read").is(t, http.StatusOK).body
	return all
}

var (
	forms   = regexp.MustCompile(`(?s)<form[^>]*>.*?</form>`)
	buttons = regexp.MustCompile(`<button[^>]*>`)
	boxes   = regexp.MustCompile(`<input[^>]*>`)
	scripts = regexp.MustCompile(`<[a-z]+ [^>]*data-(?:check-all|copy)=[^>]*>`)
)

// TestDefaultButton is about the Enter key: in a field or a checkbox it presses the first button of
// the form, which could be the one of a row.
func TestDefaultButton(t *testing.T) {
	t.Parallel()
	met := 0
	for path, page := range newScene(t).pages(t) {
		for _, form := range forms.FindAllString(page, -1) {
			pressed := buttons.FindAllString(form, -1)
			typed := 0
			for _, box := range boxes.FindAllString(form, -1) {
				if !strings.Contains(box, `type="hidden"`) {
					typed++
				}
			}
			if len(pressed) < 2 || typed == 0 {
				continue
			}
			met++
			assert.Regexp(t, `<button formmethod="dialog" hidden>|<button class="hidden" formaction="[^"]*preview/"`, pressed[0], "%s: %s", path, form)
		}
	}
	assert.GreaterOrEqual(t, met, 4, "users, recipients, and two templates")
}

func TestScriptOnlyElementsAreHidden(t *testing.T) {
	t.Parallel()
	met := 0
	for path, page := range newScene(t).pages(t) {
		for _, element := range scripts.FindAllString(page, -1) {
			met++
			assert.Contains(t, element, " hidden>", path)
		}
	}
	assert.Equal(t, 3, met, "users, recipients, and a new key")
}
