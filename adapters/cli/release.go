package cli

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/tocsin/tocsin/app"
)

func (p Program) release() *cobra.Command {
	var older time.Duration
	var dryRun bool
	var output *format
	c := &cobra.Command{
		Use:   "release",
		Short: "Let a held installation send messages again",
		Long: "Have an installation that is held (`tocsin serve --hold`, `tocsin restore`) send messages again, on all instances, and print\n" +
			"what waits by how long it has waited: since its trigger, or since the moment for which it was scheduled. What was pending when\n" +
			"a copy was taken may have been sent since then, by the installation that the copy is of: look with --dry-run first.\n" +
			"--cancel-older-than cancels occurrences that have waited longer. Cancelling cannot be undone.",
		Example: "  tocsin release --dry-run\n" +
			"  tocsin release --cancel-older-than 24h",
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if older < 0 || c.Flags().Changed("cancel-older-than") && older == 0 {
				return usagef("--cancel-older-than is a time such as 24h, see %s --help", c.CommandPath())
			}
			return p.withServices(c, func(s Services) error {
				found, err := s.Installation.Release(c.Context(), caller(), older, dryRun)
				if err != nil {
					return err
				}
				if output.value == formatJSON {
					return printJSON(p.Out, releaseOf(found, dryRun))
				}
				return p.printRelease(found, older, dryRun)
			})
		},
	}
	c.Flags().DurationVar(&older, "cancel-older-than", 0, "Cancel occurrences that have waited for longer, such as 24h")
	c.Flags().BoolVar(&dryRun, "dry-run", false, "Change nothing, only print what waits and what would be cancelled")
	output = outputFlag(c.Flags(), "table", formatJSON)
	return c
}

func (p Program) printRelease(r app.Release, older time.Duration, dryRun bool) error {
	t := newTable(p.Out, "WAITS FOR", "OCCURRENCES", "MESSAGES", "RECIPIENTS UNKNOWN")
	row := func(name string, a app.Amount) {
		t.row(name, strconv.Itoa(a.Occurrences), strconv.Itoa(a.Messages), strconv.Itoa(a.Expanding))
	}
	for n, a := range r.Waiting {
		row(ageGroup(n), a)
	}
	row("scheduled", r.Scheduled)
	if err := t.flush(); err != nil {
		return err
	}
	cancelled, released := "cancelled", "released: messages are sent from now on"
	if r.State.Held.IsZero() {
		released = "the installation was not held"
	}
	if dryRun {
		cancelled, released = "would be cancelled", "nothing was changed; the installation is held since "+formatTime(r.State.Held, "")
		if r.State.Held.IsZero() {
			released = "nothing was changed; the installation is not held"
		}
	}
	if older > 0 {
		if _, err := fmt.Fprintf(p.Out, "%s, because older than %s: %d occurrences with %d messages\n", cancelled, older, r.Cancelled.Occurrences, r.Cancelled.Messages); err != nil {
			return err
		}
	}
	return p.printf("%s\n", released)
}

// ageGroup names a group of app.Ages.
func ageGroup(n int) string {
	if n+1 == len(app.Ages) {
		return formatAge(app.Ages[n]) + " or more"
	}
	if n == 0 {
		return "less than " + formatAge(app.Ages[1])
	}
	return formatAge(app.Ages[n]) + " to " + formatAge(app.Ages[n+1])
}

// formatAge formats a duration in whole hours or days.
func formatAge(d time.Duration) string {
	if days := d / (24 * time.Hour); days > 0 {
		return fmt.Sprintf("%d d", days)
	}
	return fmt.Sprintf("%d h", d/time.Hour)
}

// releaseJSON is the result of a release in the output of -o json.
type releaseJSON struct {
	HeldSince *time.Time    `json:"held_since"` // null: it was not held
	DryRun    bool          `json:"dry_run"`
	Waiting   []waitingJSON `json:"waiting"`
	Scheduled waitingJSON   `json:"scheduled"`
	Cancelled waitingJSON   `json:"cancelled"`
}

// waitingJSON counts what waits.
type waitingJSON struct {
	ForSeconds        int64 `json:"for_seconds,omitempty"` // at least
	Occurrences       int   `json:"occurrences"`
	Messages          int   `json:"messages"`
	RecipientsUnknown int   `json:"recipients_unknown"` // occurrences
}

func releaseOf(r app.Release, dryRun bool) releaseJSON {
	amount := func(a app.Amount) waitingJSON {
		return waitingJSON{Occurrences: a.Occurrences, Messages: a.Messages, RecipientsUnknown: a.Expanding}
	}
	j := releaseJSON{DryRun: dryRun, Scheduled: amount(r.Scheduled), Cancelled: amount(r.Cancelled)}
	if !r.State.Held.IsZero() {
		j.HeldSince = &r.State.Held
	}
	for n, a := range r.Waiting {
		w := amount(a)
		w.ForSeconds = int64(app.Ages[n] / time.Second)
		j.Waiting = append(j.Waiting, w)
	}
	return j
}
