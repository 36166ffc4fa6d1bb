package templates_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/domain/templates"
)

// told formats a difference as diff does.
func told(lines []templates.Line) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteByte(byte(l.Change))
		b.WriteString(l.Text + "\n")
	}
	return b.String()
}

func TestDiff(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ before, after, want string }{
		"Nothing":        {"", "", ""},
		"TheSame":        {"a\nb\n", "a\nb\n", " a\n b\n"},
		"FromNothing":    {"", "a\n", "+a\n"},
		"ToNothing":      {"a\n\nb", "", "-a\n-\n-b\n"},
		"InTheMiddle":    {"a\nb\nc", "a\nx\nc", " a\n-b\n+x\n c\n"},
		"Moved":          {"a\nb\nc", "c\na\nb", "+c\n a\n b\n-c\n"},
		"OneMoreOfOne":   {"a\na", "a\na\na", " a\n a\n+a\n"},
		"Interleaved":    {"1\n2\n3\n4\n5", "2\n2\n4\n6", "-1\n 2\n-3\n+2\n 4\n-5\n+6\n"},
		"AnEmptyLine":    {"a\nb", "a\n\nb", " a\n+\n b\n"},
		"TheLastNewline": {"a", "a\n", " a\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, c.want, told(templates.Diff(c.before, c.after)))
		})
	}
	t.Run("TextsTooLongToCompare", func(t *testing.T) {
		t.Parallel()
		before, after := strings.Repeat("a\n", 3000), strings.Repeat("b\n", 3000)
		want := " =\n" + strings.Repeat("-a\n", 3000) + strings.Repeat("+b\n", 3000)
		assert.Equal(t, want, told(templates.Diff("=\n"+before, "=\n"+after)))
	})
}

// FuzzDiff checks that both texts can be restored from their difference.
func FuzzDiff(f *testing.F) {
	f.Add("a\nb", "b\nc")
	f.Fuzz(func(t *testing.T, before, after string) {
		var was, is []string
		for _, l := range templates.Diff(before, after) {
			if l.Change != templates.Added {
				was = append(was, l.Text)
			}
			if l.Change != templates.Removed {
				is = append(is, l.Text)
			}
		}
		if got := strings.Join(was, "\n"); got != strings.TrimSuffix(before, "\n") {
			t.Fatalf("%q was %q", before, got)
		}
		if got := strings.Join(is, "\n"); got != strings.TrimSuffix(after, "\n") {
			t.Fatalf("%q is %q", after, got)
		}
	})
}
