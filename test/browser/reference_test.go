package browser_test

import (
	"encoding/json"
	"html"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/access"
)

// rendererWarning is a warning of the renderer for its developers.
const rendererWarning = "React Router Future Flag Warning"

// TestReference tries a call on the reference page with a key. Requests to other hosts and
// violations of the Content-Security-Policy fail the test.
func TestReference(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, typed := range []string{w.key, "Key " + w.key} {
		p := w.tab()
		p.strict = false // We do not check what the renderer draws.
		for range 4 {    // Two each time that the page is opened.
			p.expectComplaint(rendererWarning)
		}
		p.open("/api/docs/#/operations/ping")
		p.awaits("Send API Request")
		p.fill("Authorization", typed)
		p.steps(p.clicking(button, "Send API Request"))
		p.awaits("200 OK")
		p.sees(`"browser"`) // The name of the key.

		eval[string](p, "location.hash = '#/operations/listUsers'")
		p.awaits("Create or enroll a user")
		p.awaits("List users")
		p.steps(p.clicking(button, "Send API Request"))
		p.awaits("200 OK")
		p.sees("Request Sample: Shell / cURL", `curl "$TOCSIN_URL/api/v1/user/acme/"`)
		p.strict = true
		p.open("/api/docs/start/")
		p.strict = false
		p.sees("Your first message in five minutes")
		assert.Zero(t, eval[int](p, "localStorage.length"), "a key is not kept in the browser")
		p.open("/api/docs/#/operations/ping")
		p.awaits("Send API Request")
		assert.NotContains(t, eval[string](p, "document.querySelector('input[aria-label=Authorization]').value"), "tcs_", "a key is forgotten with the page")
	}

	p := w.tab()
	p.strict = false
	p.withoutScripts()
	p.open("/api/docs/")
	p.sees("the OpenAPI 3.1 document", "your first message in five minutes")
}

// sample is an example of the OpenAPI document.
type sample struct{ Label, Source string }

// shell runs a command of a page in a shell with the URL and the key of the installation, and
// returns the response.
func (w *world) shell(command string) (status, answer string) {
	w.Helper()
	c := exec.CommandContext(w.Context(), "sh", "-c", `curl() { command curl -sS -w '\n%{http_code}' "$@"; }`+"\n"+command)
	c.Env = append(os.Environ(), "TOCSIN_URL="+w.base, "TOCSIN_KEY="+w.key)
	out, err := c.CombinedOutput()
	require.NoError(w, err, "%s: %s", command, out)
	text := string(out)
	end := strings.LastIndexByte(text, '\n')
	return text[end+1:], text[:end]
}

// TestExamplesRun runs every curl command of the OpenAPI document unchanged. Some name objects that
// do not exist.
func TestExamplesRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	arguments := []string{"key", "create", "--name", "examples"}
	for _, g := range access.Grants() {
		arguments = append(arguments, "--grant", string(g))
	}
	w.key = w.run("", arguments...)
	var document struct {
		Paths map[string]map[string]json.RawMessage
	}
	w.call(http.MethodGet, "openapi.json", nil, &document)
	w.member("anna@example.org", "Anna", "") // The examples name them.
	w.member("ben@example.org", "Ben", "")
	w.call(http.MethodPost, "o/acme/p/shop/d/", object{"name": "Newsletter"}, nil)
	served := map[string]string{}
	for _, path := range slices.Sorted(maps.Keys(document.Paths)) {
		for _, method := range []string{"get", "post", "put", "patch", "delete"} {
			text, there := document.Paths[path][method]
			if !there {
				continue
			}
			var operation struct {
				ID      string   `json:"operationId"`
				Samples []sample `json:"x-codeSamples"`
			}
			require.NoError(t, json.Unmarshal(text, &operation))
			i := slices.IndexFunc(operation.Samples, func(s sample) bool { return s.Label == "curl" })
			require.NotEqual(t, -1, i, "%s %s", method, path)
			status, answer := w.shell(operation.Samples[i].Source)
			served[operation.ID] = status
			switch status {
			case "200", "201", "404", "409", "412": // Some objects do not exist, or exist already.
			case "400":
				assert.Regexp(t, `"code":"(unknown_\w+|\w+_taken|in_use|key_ended|application_inactive)"|is not a setting of this driver|is pinned to another application`,
					answer, operation.Samples[i].Source)
			default:
				assert.Fail(t, status, "%s: %s", operation.Samples[i].Source, answer)
			}
		}
	}
	for _, id := range []string{"ping", "listUsers", "enrollUser", "listApplications", "listEvents", "listDistributionLists", "getOrganization", "getHealth"} {
		assert.Contains(t, []string{"200", "201"}, served[id], id)
	}
}

// TestFirstMessage follows the page about a first message to its end. docs/first-message.md has the
// same commands.
func TestFirstMessage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.base+"/api/docs/start/", http.NoBody)
	require.NoError(t, err)
	response, err := (&http.Client{Timeout: timeout}).Do(request)
	require.NoError(t, err)
	page, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	var commands []string
	for _, m := range regexp.MustCompile(`(?s)<pre tabindex="0"><code>(.*?)</code></pre>`).FindAllStringSubmatch(string(page), -1) {
		commands = append(commands, html.UnescapeString(m[1]))
	}
	require.Len(t, commands, 7)

	text, err := os.ReadFile("../../docs/first-message.md")
	require.NoError(t, err)
	var written []string
	for _, m := range regexp.MustCompile("(?s)```sh\n(.*?)\n```").FindAllStringSubmatch(string(text), -1) {
		written = append(written, m[1])
	}
	assert.Equal(t, commands, written)

	w.run("", strings.Fields(strings.TrimPrefix(commands[0], "tocsin "))...)
	var answers []string
	for _, command := range commands[2:] {
		status, answer := w.shell(command)
		answers = append(answers, answer)
		require.Contains(t, []string{"200", "201"}, status, "%s: %s", command, answer)
	}
	assert.Contains(t, answers[0], "browser")
	assert.Contains(t, answers[2], "Hello", "a dry run shows what would leave")
	w.awaitOccurrence(1)
	_, answer := w.shell(commands[6])
	assert.Contains(t, answer, "sent")
	assert.Contains(t, w.run("", "mailbox"), "grace@example.com")
}
