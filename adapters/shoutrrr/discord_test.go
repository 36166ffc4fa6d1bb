package shoutrrr_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestWholeTextForDiscord checks that each line arrives once. The library loses lines when it makes
// an item of each.
func TestWholeTextForDiscord(t *testing.T) {
	var short strings.Builder
	for n := range 12 {
		fmt.Fprintf(&short, "#%d#\n", n+1)
	}
	for _, query := range []string{"", "?splitlines=yes"} {
		for lines, text := range map[int]string{12: short.String(), 16: longText()} {
			answers(says(204, ""))
			m := message("1")
			m.Text = text
			require.NoError(t, open(t, "discord://t0kent0kent0ken@123456789"+query).Dispatch(t.Context(), m))
			var got strings.Builder
			for _, e := range world.seen {
				got.WriteString(e.body)
			}
			for n := range lines {
				assert.Equal(t, 1, strings.Count(got.String(), fmt.Sprintf("#%d#", n+1)), "line %d", n+1)
			}
		}
	}
}
