package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/audit"
)

// The number of entries to list.
const (
	defaultEntries = 50
	maxEntries     = 10_000
)

func (p Program) audit() *cobra.Command {
	c := &cobra.Command{
		Use:   "audit",
		Short: "Look at the audit log",
		Long: "Look at the audit log: who changed what, when, from where, before and after. Each organization has a log of its own; without\n" +
			"--org it is that of the installation itself, about accounts, keys that reach everywhere, and signing in.",
	}
	c.AddCommand(p.auditList(), p.auditExport())
	return c
}

// auditFlags are the flags of the commands that select audit entries.
type auditFlags struct {
	at       app.Path
	q        audit.Query
	from, to string
}

func newAuditFlags(c *cobra.Command) *auditFlags {
	f := &auditFlags{}
	flags := c.Flags()
	flags.StringVar(&f.at.Organization, "org", "", "Organization (slug); without it the log of the installation itself")
	flags.StringVar(&f.q.Actor, "actor", "", "Only what this user or API key did (name)")
	flags.StringVar((*string)(&f.q.Via), "via", "", "Only by this way: console, \"command line\", API or \"unsubscribe link\"")
	flags.StringVar((*string)(&f.q.Action), "action", "", "Only actions that begin like this, such as member.lock or member.")
	flags.StringVar(&f.q.Object, "object", "", "Only objects whose path begins like this, such as acme/p/shop")
	flags.StringVar(&f.from, "from", "", "From this day on (2026-03-01, UTC)")
	flags.StringVar(&f.to, "to", "", "To this day, included")
	return f
}

// query returns the query of the flags.
func (f *auditFlags) query() (audit.Query, error) {
	day := func(name, text string) (time.Time, error) {
		if text == "" {
			return time.Time{}, nil
		}
		t, err := time.Parse(time.DateOnly, text)
		if err != nil {
			return t, usagef("--%s must be a day such as 2026-03-31", name)
		}
		return t, nil
	}
	q := f.q
	var err error
	if q.From, err = day("from", f.from); err != nil {
		return q, err
	}
	last, err := day("to", f.to)
	if !last.IsZero() {
		q.Until = last.AddDate(0, 0, 1)
	}
	return q, err
}

func (p Program) auditList() *cobra.Command {
	var f *auditFlags
	var limit int
	var output *format
	c := &cobra.Command{
		Use:     "list",
		Short:   "Print the newest entries of the audit log",
		Example: "  tocsin audit list --org acme --limit 20\n  tocsin audit list --org acme --actor ada --from 2026-03-01 -o json",
		Args:    noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			q, err := f.query()
			if err != nil {
				return err
			}
			if limit < 1 || limit > maxEntries {
				return usagef("--limit must be from 1 to %d, see %s --help", maxEntries, c.CommandPath())
			}
			return p.withServices(c, func(s Services) error {
				var all []audit.Entry
				for more := true; more && len(all) < limit; {
					q.Limit = limit - len(all)
					found, err := s.Audit.Search(c.Context(), f.at, q)
					if err != nil {
						return err
					}
					all, q.After, more = append(all, found.Entries...), found.Next, found.More
				}
				return p.printEntries(all, output.value)
			})
		},
	}
	f = newAuditFlags(c)
	c.Flags().IntVar(&limit, "limit", defaultEntries, "How many entries at most")
	output = outputFlag(c.Flags(), "table", formatJSON)
	return c
}

func (p Program) auditExport() *cobra.Command {
	var f *auditFlags
	c := &cobra.Command{
		Use:   "export",
		Short: "Print all entries of the audit log as JSON, one on each line",
		Long: "Print all entries of the audit log that the flags select, the newest first, as JSON, one on each line. That they were exported\n" +
			"is recorded, too.",
		Example: "  tocsin audit export --org acme >audit-acme.jsonl\n  tocsin audit export --org acme --from 2026-01-01 --to 2026-03-31 | gzip >audit.jsonl.gz",
		Args:    noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			q, err := f.query()
			if err != nil {
				return err
			}
			return p.withServices(c, func(s Services) error {
				out := bufio.NewWriter(p.Out)
				lines := json.NewEncoder(out)
				lines.SetEscapeHTML(false)
				err := s.Audit.Export(c.Context(), caller(), f.at, q, func(es []audit.Entry) error {
					for _, e := range es {
						if err := lines.Encode(newEntryJSON(e)); err != nil {
							return err
						}
					}
					return nil
				})
				if err != nil {
					return err
				}
				return out.Flush()
			})
		},
	}
	f = newAuditFlags(c)
	return c
}

// entryJSON is an entry in JSON output.
type entryJSON struct {
	ID      int64       `json:"id"`
	At      time.Time   `json:"at"`
	Actor   string      `json:"actor"`
	Key     int64       `json:"key,omitempty"` // of an API key
	Via     string      `json:"via"`
	Address string      `json:"address"`
	Action  string      `json:"action"`
	Object  string      `json:"object"`
	Before  audit.State `json:"before"`
	After   audit.State `json:"after"`
}

func newEntryJSON(e audit.Entry) entryJSON {
	return entryJSON{ID: int64(e.ID), At: e.At, Actor: e.Actor.Name, Key: int64(e.Actor.Key), Via: string(e.Actor.Via), Address: e.Actor.Address,
		Action: string(e.Action), Object: e.Object, Before: e.Before, After: e.After}
}

func (p Program) printEntries(all []audit.Entry, output string) error {
	if output == formatJSON {
		list := make([]entryJSON, len(all))
		for i, e := range all {
			list[i] = newEntryJSON(e)
		}
		return printJSON(p.Out, list)
	}
	t := newTable(p.Out, "WHEN", "WHO", "VIA", "FROM", "WHAT", "OBJECT", "BEFORE", "AFTER")
	for _, e := range all {
		before, err := stateLine(e.Before)
		if err != nil {
			return err
		}
		after, err := stateLine(e.After)
		if err != nil {
			return err
		}
		t.row(formatTime(e.At, "-"), orDash(oneLine(e.Actor.Name)), string(e.Actor.Via), orDash(oneLine(e.Actor.Address)), string(e.Action),
			oneLine(e.Object), before, after)
	}
	return t.flush()
}

// maxStateWidth is the maximum width of a state in a table, in characters.
const maxStateWidth = 80

// stateLine returns a state for one cell of a table, truncated if it is long.
func stateLine(s audit.State) (string, error) {
	if len(s) == 0 {
		return "-", nil
	}
	text, err := s.Text()
	if err != nil {
		return "", fmt.Errorf("state of an entry: %w", err)
	}
	line := []rune(oneLine(text))
	if len(line) > maxStateWidth {
		line = append(line[:maxStateWidth-1], '…')
	}
	return string(line), nil
}
