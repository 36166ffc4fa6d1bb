package shoutrrr_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// discordText returns the text of the requests for Discord. Like Discord, it refuses what is longer
// than the limits.
func discordText(t *testing.T) (text string) {
	t.Helper()
	for _, e := range world.seen {
		var m struct {
			Content string
			Embeds  []struct{ Title, Description string }
			Allowed struct{ Parse []string } `json:"allowed_mentions"`
		}
		require.NoError(t, json.Unmarshal([]byte(e.body), &m))
		assert.Equal(t, []string{"users", "roles"}, m.Allowed.Parse, "not everyone")
		assert.LessOrEqual(t, utf8.RuneCountInString(m.Content), 2_000)
		assert.LessOrEqual(t, len(m.Embeds), 10)
		sum := 0
		for _, e := range m.Embeds {
			assert.LessOrEqual(t, utf8.RuneCountInString(e.Title), 256)
			assert.LessOrEqual(t, utf8.RuneCountInString(e.Description), 4_096)
			sum += utf8.RuneCountInString(e.Title) + utf8.RuneCountInString(e.Description)
			text += e.Description + "\n"
		}
		assert.LessOrEqual(t, sum, 6_000)
		if m.Content != "" {
			text += m.Content + "\n"
		}
	}
	return text
}

// TestWholeTextForDiscord checks that each character arrives once, and that Discord accepts each
// part.
func TestWholeTextForDiscord(t *testing.T) {
	var lines strings.Builder
	for n := range 12 {
		fmt.Fprintf(&lines, "#%d# größer\n", n+1)
	}
	for name, text := range map[string]string{
		"Lines":         lines.String(),
		"LongLines":     longText(),
		"OtherAlphabet": strings.Repeat(strings.Repeat("слово ", 200)+"конец\n", 12),
		"NoSpaces":      strings.Repeat("ü", 9_500),
		"AsLongAsAPart": strings.Repeat("ü", 2_000),
	} {
		for _, subject := range []string{"", "A subject", strings.Repeat("ß", 300)} {
			t.Run(fmt.Sprint(name, "/", len(subject)), func(t *testing.T) {
				answers(says(http.StatusNoContent, ""))
				m := message("1")
				m.Subject, m.Text = subject, text
				require.NoError(t, open(t, "discord://t0kent0kent0ken@123456789?splitlines=yes").Dispatch(t.Context(), m))
				plain := strings.NewReplacer("\n", "", " ", "")
				assert.Equal(t, plain.Replace(text), plain.Replace(discordText(t)))
			})
		}
	}
}
