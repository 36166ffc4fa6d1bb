package cli

import (
	"github.com/spf13/cobra"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/events"
)

func (p Program) deliveries() *cobra.Command {
	c := &cobra.Command{Use: "deliveries", Short: "Manage deliveries"}
	c.AddCommand(p.deliveriesRetry())
	return c
}

func (p Program) deliveriesRetry() *cobra.Command {
	var occurrence int64
	c := &cobra.Command{
		Use:   "retry --occurrence ID",
		Short: "Send the failed deliveries of an occurrence again",
		Long: "Make the failed deliveries of an occurrence due again, as if they had never been tried, and print how many. Those that were sent\n" +
			"or skipped stay as they are. A running server or worker sends them.",
		Example: "  tocsin deliveries retry --occurrence 17",
		Args:    noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if occurrence <= 0 {
				return usagef("--occurrence is missing or no id, see %s --help", c.CommandPath())
			}
			return p.withServices(c, func(s Services) error {
				requeued, err := s.Retries.Failed(c.Context(), caller(), app.Path{}, events.OccurrenceID(occurrence))
				if err != nil {
					return err
				}
				return p.printf("requeued %d failed deliveries of occurrence %d\n", requeued, occurrence)
			})
		},
	}
	c.Flags().Int64Var(&occurrence, "occurrence", 0, "Id of the occurrence, as the trigger answered it (required)")
	return c
}
