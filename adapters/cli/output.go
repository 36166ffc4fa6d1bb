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

// moment formats a time for printing, or returns a word for none.
func moment(t time.Time, none string) string {
	if t.IsZero() {
		return none
	}
	return t.UTC().Format(time.RFC3339)
}

// printJSON prints a value. The encoder leaves some characters unescaped that a terminal acts on;
// in JSON they occur only in strings, where they can be escaped.
func printJSON(out io.Writer, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := io.WriteString(out, manyLines(b.String()))
	return err
}

// format is a flag that takes one of a few words.
type format struct {
	word string
	of   []string
}

var _ pflag.Value = (*format)(nil)

const inJSON = "json"

// outputFlag registers -o; the first word is the default.
func outputFlag(flags *pflag.FlagSet, words ...string) *format {
	f := &format{word: words[0], of: words}
	flags.VarP(f, "output", "o", "Form of the output: "+strings.Join(words, " or "))
	return f
}

func (f *format) String() string { return f.word }
func (f *format) Type() string   { return "format" }

func (f *format) Set(word string) error {
	if !slices.Contains(f.of, word) {
		return fmt.Errorf("must be %s", strings.Join(f.of, " or "))
	}
	f.word = word
	return nil
}
