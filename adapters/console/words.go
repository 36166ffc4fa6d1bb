package console

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tocsin/tocsin/adapters/console/words"
)

// moment writes a moment, everywhere in UTC.
func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// count writes a number in groups of three digits.
func count(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// atLeast writes a number, and that there may be more.
func atLeast(n int, more bool) words.Phrase {
	if more {
		return words.Of("%d or more", n)
	}
	return words.Of("%d", n)
}

// took writes a duration with as much as matters of it.
func took(d time.Duration) string {
	switch {
	case d == 0:
		return "–"
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	case d < time.Minute:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", d/time.Minute, d%time.Minute/time.Second)
	default:
		return fmt.Sprintf("%d h %d min", d/time.Hour, d%time.Hour/time.Minute)
	}
}

// lasting writes how long something has been so, as roughly as one says it.
func lasting(d time.Duration) words.Phrase {
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

// bytesOf writes a size.
func bytesOf(n int64) string {
	const unit = 1024
	size, names := float64(n), []string{"bytes", "KiB", "MiB", "GiB", "TiB"}
	i := 0
	for ; size >= unit && i < len(names)-1; i++ {
		size /= unit
	}
	if i == 0 {
		return strconv.FormatInt(n, 10) + " bytes"
	}
	return strconv.FormatFloat(size, 'f', 1, 64) + " " + names[i]
}

// sentence makes a sentence of a fault's words.
func sentence(words string) string {
	if words == "" || words[0] < 'a' || words[0] > 'z' {
		return words
	}
	return string(words[0]-'a'+'A') + words[1:] + "."
}

// indented is JSON as people like to read it.
func indented(v any) (string, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // The template escapes.
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return strings.TrimSpace(b.String()), err
}
