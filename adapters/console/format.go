package console

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/tocsin/tocsin/adapters/console/words"
)

// formatTime formats a time, always in UTC.
func formatTime(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// atLeast formats a number, or "n or more".
func atLeast(n int, more bool) words.Phrase {
	if more {
		return words.Of("%d or more", n)
	}
	return words.Of("%d", n)
}

// formatDuration formats a duration with one or two units.
func formatDuration(d time.Duration) words.Phrase {
	switch {
	case d == 0:
		return words.Of("–")
	case d < time.Second:
		return words.Of("%d ms", int(d.Milliseconds()))
	case d < time.Minute:
		return words.Of("%.1f s", d.Seconds())
	case d < time.Hour:
		return words.Of("%d min %d s", int(d/time.Minute), int(d%time.Minute/time.Second))
	default:
		return words.Of("%d h %d min", int(d/time.Hour), int(d%time.Hour/time.Minute))
	}
}

// formatAge formats how long a state has lasted, in one unit.
func formatAge(d time.Duration) words.Phrase {
	switch {
	case d < time.Minute:
		return words.Of("less than a minute")
	case d < time.Hour:
		return words.Of("%d min", int(d/time.Minute))
	case d < 48*time.Hour:
		return words.Of("%d h", int(d/time.Hour))
	default:
		return words.Of("%d days", int(d/(24*time.Hour)))
	}
}

// formatSize formats a size in bytes.
func formatSize(n int64) words.Phrase {
	size := float64(n) / 1024
	switch {
	case n < 1<<10:
		return words.Of("%d bytes", int(n))
	case n < 1<<20:
		return words.Of("%.1f KiB", size)
	case n < 1<<30:
		return words.Of("%.1f MiB", size/(1<<10))
	case n < 1<<40:
		return words.Of("%.1f GiB", size/(1<<20))
	default:
		return words.Of("%.1f TiB", size/(1<<30))
	}
}

// sentence turns an error message into a sentence. A message may end with a sentence of its own.
func sentence(message string) string {
	if message == "" || message[0] < 'a' || message[0] > 'z' {
		return message
	}
	message = string(message[0]-'a'+'A') + message[1:]
	if strings.ContainsAny(message[len(message)-1:], ".!?") {
		return message
	}
	return message + "."
}

// indentJSON returns a value as indented JSON.
func indentJSON(v any) (string, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // The template escapes.
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return strings.TrimSpace(b.String()), err
}
