package shoutrrr_test

import (
	"encoding/json"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTextForSlack checks that each line is an attachment, the last of which has all further lines.
func TestTextForSlack(t *testing.T) { //nolint:paralleltest // they share the Internet
	numbered := make([]string, 120)
	for n := range numbered {
		numbered[n] = strconv.Itoa(n)
	}
	for name, c := range map[string]struct {
		text        string
		attachments int
	}{
		"OneLine":         {"a", 1},
		"ABlankLine":      {"a\n\nb", 3},
		"AsManyAsMayBe":   {strings.Join(numbered[:100], "\n"), 100},
		"More":            {strings.Join(numbered, "\n"), 100},
		"FurtherOnBlanks": {strings.Join(numbered[:99], "\n") + "\n\n\na", 100},
		"VeryMany":        {"a" + strings.Repeat("\n", 20_000) + "b", 100},
	} {
		t.Run(name, func(t *testing.T) {
			answers(says(http.StatusOK, `{"ok": true}`))
			m := message("C001CH4NN3L")
			m.Text = c.text
			d := open(t, services["slack"].url)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			require.NoError(t, d.Dispatch(t.Context(), m))
			runtime.ReadMemStats(&after)
			assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(50<<20), "the library copies the last attachment for each line")
			require.Len(t, world.seen, 1)
			var sent struct{ Attachments []struct{ Text string } }
			require.NoError(t, json.Unmarshal([]byte(world.seen[0].body), &sent))
			require.Len(t, sent.Attachments, c.attachments)
			var lines []string
			for _, a := range sent.Attachments {
				lines = append(lines, a.Text)
			}
			assert.Equal(t, c.text, strings.Join(lines, "\n"))
		})
	}
}

// TestLongTitleForOpsgenie checks that a title which Opsgenie would refuse is shortened, and whole
// in the description.
func TestLongTitleForOpsgenie(t *testing.T) { //nolint:paralleltest // they share the Internet
	for length, whole := range map[int]bool{130: true, 131: false, 1_000: false} {
		answers(says(http.StatusAccepted, "{}"))
		m := message("ada")
		m.Subject = strings.Repeat("ü", length)
		require.NoError(t, open(t, services["opsgenie"].url).Dispatch(t.Context(), m))
		require.Len(t, world.seen, 1)
		var alert struct{ Message, Description string }
		require.NoError(t, json.Unmarshal([]byte(world.seen[0].body), &alert))
		assert.Equal(t, min(length, 130), utf8.RuneCountInString(alert.Message))
		assert.Equal(t, whole, alert.Message == m.Subject)
		want := "The text."
		if !whole {
			want = m.Subject + "\n\n" + want
		}
		assert.Equal(t, want, alert.Description)
	}
}
