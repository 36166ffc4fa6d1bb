package cli

import (
	"github.com/spf13/cobra"
)

func (p Program) maintenance() *cobra.Command {
	c := &cobra.Command{
		Use:   "maintenance",
		Short: "Make a running installation read-only, and back",
		Long: "Make a running installation read-only, and back. While it is, calls and forms that would change something are answered 503 with\n" +
			"the code `maintenance` and the operator's message, reading still works, and nothing is sent, because the outcome of an attempt\n" +
			"is a change too. Attempts in progress finish and are recorded. All instances follow within two seconds, and the state survives\n" +
			"a restart.",
	}
	var message string
	on := &cobra.Command{
		Use:     "on",
		Short:   "Make the installation read-only",
		Example: "  tocsin maintenance on --message \"We move to another database, until 14:00 UTC.\"",
		Args:    noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return p.withServices(c, func(s Services) error {
				var notice *string
				if c.Flags().Changed("message") {
					notice = &message
				}
				if _, err := s.Installation.BeginMaintenance(c.Context(), caller(), notice); err != nil {
					return err
				}
				return p.printMaintenance(c, s)
			})
		},
	}
	on.Flags().StringVar(&message, "message", "", "Message for refused changes; without this flag an earlier message stays")
	off := &cobra.Command{
		Use:     "off",
		Short:   "Let the installation accept changes and send again",
		Example: "  tocsin maintenance off",
		Args:    noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return p.withServices(c, func(s Services) error {
				if _, err := s.Installation.EndMaintenance(c.Context(), caller()); err != nil {
					return err
				}
				return p.printMaintenance(c, s)
			})
		},
	}
	status := &cobra.Command{
		Use:     "status",
		Short:   "Print whether the installation is read-only or held",
		Example: "  tocsin maintenance status",
		Args:    noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return p.withServices(c, func(s Services) error { return p.printMaintenance(c, s) })
		},
	}
	c.AddCommand(on, off, status)
	return c
}

func (p Program) printMaintenance(c *cobra.Command, s Services) error {
	state, err := s.Installation.State(c.Context())
	if err != nil {
		return err
	}
	t := newTable(p.Out, "STATE", "SINCE")
	t.row("read-only", formatTime(state.ReadOnly, "no"))
	t.row("held", formatTime(state.Held, "no"))
	if err := t.flush(); err != nil || state.Notice == "" {
		return err
	}
	return p.printf("message: %s\n", oneLine(state.Notice))
}
