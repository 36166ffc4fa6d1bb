package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/users"
)

func (p Program) channel() *cobra.Command {
	c := &cobra.Command{Use: "channel", Short: "Manage channels"}
	c.AddCommand(p.channelTest())
	return c
}

func (p Program) channelTest() *cobra.Command {
	var at app.ChannelName
	var to string
	c := &cobra.Command{
		Use:   "test NAME --to ADDRESS",
		Short: "Send one message through a channel and say what happened",
		Long: "Send one real message through a channel, once, and say what its provider answered. The channel may be inactive, and a server may\n" +
			"be running; the test is recorded only in the audit log. With --project the name is looked up in the project first, then in\n" +
			"the organization.",
		Example: "  tocsin channel test mail --to ada@example.com\n" +
			"  tocsin channel test hooks --org acme --project shop --to https://example.com/in",
		Args:              oneArgument("NAME"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) error {
			if to == "" {
				return usagef("--to is missing, see %s --help", c.CommandPath())
			}
			if _, err := users.NewAddress(to, ""); err != nil {
				return usagef("--to %s", fault.Reason(err))
			}
			at.Channel = args[0]
			return p.withServices(c, func(s Services) error {
				done, err := s.ChannelTests.Send(c.Context(), caller(), at, to)
				if err != nil {
					return whichOrganization(err)
				}
				return p.printTest(done)
			})
		},
	}
	f := c.Flags()
	f.StringVar(&to, "to", "", "Address to send to, of the type that the channel reaches (required)")
	organizationFlag(f, &at.Organization)
	f.StringVar(&at.Project, "project", "", "Project in which the name is looked up first (slug)")
	return c
}

// printTest prints the result of a test message.
func (p Program) printTest(done app.TestResult) error {
	c := done.Channel
	if !c.Active {
		fmt.Fprintf(p.Err, "the channel %q is inactive: it is tested, but nothing else is sent through it\n", c.Name)
	}
	if done.Failure != nil {
		return fmt.Errorf("%s: %s", verdict(c.Name, done.To, done.Failure), strings.ReplaceAll(done.Failure.Detailed(), "\n", " "))
	}
	return p.printf("accepted: the provider behind the channel %q (%s) took the message to %s\n", c.Name, c.Driver, oneLine(done.To))
}

// verdict explains a failure.
func verdict(channel, to string, f *deliveries.Failure) string {
	switch {
	case f.Unsent:
		return fmt.Sprintf("unsent: the driver of the channel %q refused the message to %s and nothing was sent, which proves nothing about the channel", channel, to)
	case f.Channel:
		return fmt.Sprintf("unreachable: the channel %q does not work for any recipient", channel)
	case f.Temporary:
		return fmt.Sprintf("postponed: the channel %q works, but %s cannot be reached now; another attempt may succeed", channel, to)
	}
	return fmt.Sprintf("refused: the channel %q works, but the message to %s is not accepted, and would not be later", channel, to)
}
