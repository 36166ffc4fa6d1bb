package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
)

// defaultOverlap is how long a replaced key stays valid by default.
const defaultOverlap = 24 * time.Hour

func (p Program) keyRotate() *cobra.Command {
	overlap := lifetime(defaultOverlap)
	c := &cobra.Command{
		Use:   "rotate NAME",
		Short: "Replace an API key with a new one and print it",
		Long: "Issue a key with the name, the scope, the grants and the lifetime of another. The key, and nothing else, is printed on\n" +
			"standard output; it is shown only once and is not stored. The old key stays valid for the overlap and then expires.\n" +
			"If keys of several scopes have the name, the flags select one.",
		Example:           "  tocsin key rotate sync\n  TOKEN=$(tocsin key rotate sync --overlap 7d)",
		Args:              oneArgument("NAME"),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	scope := scopeFlags(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		in, err := scope.scope()
		if err != nil {
			return err
		}
		return p.withServices(c, func(s Services) error {
			r, err := s.Keys.Rotate(c.Context(), caller(), args[0], in, time.Duration(overlap))
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintln(p.Out, r.Text); err != nil {
				return fmt.Errorf("the key %q exists now but could not be printed, rotate it again: %w", r.Key.Name, err)
			}
			_, _ = fmt.Fprintf(p.Err, "rotated key %q of %s: expires %s; the old key stays valid until %s\n",
				r.Key.Name, r.Key.Scope, formatTime(r.Key.Expires, "never"), formatTime(r.Old.Expires, "never"))
			return nil
		})
	}
	c.Flags().Var(&overlap, "overlap", "How long the old key stays valid, such as 1h or 7d")
	return c
}
