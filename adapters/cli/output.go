package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/pflag"
)

// table prints rows in aligned columns.
type table struct{ out *tabwriter.Writer }

func newTable(out io.Writer, header ...string) table {
	t := table{out: tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)}
	t.row(header...)
	return t
}

// row adds a row; flush reports write errors.
func (t table) row(cells ...string) { _, _ = fmt.Fprintln(t.out, strings.Join(cells, "\t")) }

func (t table) flush() error { return t.out.Flush() }

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// formatTime formats a time; for the zero time it returns none.
func formatTime(t time.Time, none string) string {
	if t.IsZero() {
		return none
	}
	return t.UTC().Format(time.RFC3339)
}

// printf prints a formatted text to the output.
func (p Program) printf(text string, args ...any) error {
	_, err := fmt.Fprintf(p.Out, text, args...)
	return err
}

// printJSON prints a value as JSON. It escapes control characters that the encoder does not.
func printJSON(out io.Writer, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := io.WriteString(out, multiLine(b.String()))
	return err
}

// format is a flag with a few allowed values.
type format struct {
	value   string
	allowed []string
}

var _ pflag.Value = (*format)(nil)

const formatJSON = "json"

// outputFlag registers -o; the first word is the default.
func outputFlag(flags *pflag.FlagSet, words ...string) *format {
	f := &format{value: words[0], allowed: words}
	flags.VarP(f, "output", "o", "Form of the output: "+strings.Join(words, " or "))
	return f
}

func (f *format) String() string { return f.value }
func (f *format) Type() string   { return "format" }

func (f *format) Set(word string) error {
	if !slices.Contains(f.allowed, word) {
		return fmt.Errorf("must be %s", strings.Join(f.allowed, " or "))
	}
	f.value = word
	return nil
}
