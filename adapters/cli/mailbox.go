package cli

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
)

// The number of messages to list.
const (
	defaultMessages = 20
	maxMessages     = 1_000
)

func (p Program) mailbox() *cobra.Command {
	var of app.ChannelName
	var to string
	var limit int
	var output *format
	c := &cobra.Command{
		Use:   "mailbox",
		Short: "Show the messages that mailbox channels keep",
		Long: "List the newest messages that channels with the driver `mailbox` keep for inspection instead of sending them.\n" +
			"`tocsin mailbox show ID` prints one of them, `tocsin mailbox clear` deletes all.",
		Example:     "  tocsin mailbox\n  tocsin mailbox --org acme --channel mail --to ada@example.com --limit 5\n  tocsin mailbox -o json",
		Annotations: map[string]string{runnable: "yes"},
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(c, args)
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error {
			if err := checkChannelFlags(c, of); err != nil {
				return err
			}
			if limit < 1 || limit > maxMessages {
				return usagef("--limit must be from 1 to %d, see %s --help", maxMessages, c.CommandPath())
			}
			if _, err := users.NewAddress(to, ""); to != "" && err != nil {
				return usagef("--to %s", fault.Reason(err))
			}
			return p.withServices(c, func(s Services) error {
				found, err := s.Mailbox.List(c.Context(), of, to, limit)
				if err != nil {
					return whichOrganization(err)
				}
				return p.printMessages(found, output.value)
			})
		},
	}
	f := c.Flags()
	channelFlags(f, &of)
	f.StringVar(&to, "to", "", "Only messages to this address")
	f.IntVar(&limit, "limit", defaultMessages, "How many messages at most")
	output = outputFlag(f, "table", formatJSON)
	c.AddCommand(p.mailboxShow(), p.mailboxClear())
	return c
}

// channelFlags registers flags that name channels of one organization.
func channelFlags(f *pflag.FlagSet, of *app.ChannelName) {
	organizationFlag(f, &of.Organization)
	f.StringVar(&of.Project, "project", "", "Project in which the channel's name is looked up first (slug, needs --channel)")
	f.StringVar(&of.Channel, "channel", "", "Only messages of this channel (name)")
}

func organizationFlag(f *pflag.FlagSet, organization *string) {
	f.StringVar(organization, "org", "", "Organization (slug); may be left out where there is only one")
}

func checkChannelFlags(c *cobra.Command, of app.ChannelName) error {
	if of.Project != "" && of.Channel == "" {
		return usagef("--project needs --channel, see %s --help", c.CommandPath())
	}
	return nil
}

// whichOrganization turns orgs.ErrSeveral into a usage error.
func whichOrganization(err error) error {
	if errors.Is(err, orgs.ErrSeveral) {
		return usagef("there are several organizations, name one with --org")
	}
	return err
}

// messageJSON is a message in the output of -o json. Lists omit text and html.
type messageJSON struct {
	ID          int64             `json:"id"`
	Created     time.Time         `json:"created"`
	Channel     string            `json:"channel"`
	Protocol    string            `json:"protocol"`
	To          string            `json:"to"`
	Subject     string            `json:"subject"`
	MessageID   string            `json:"message_id"`
	Unsubscribe string            `json:"unsubscribe"`
	Facts       map[string]string `json:"facts"`
	Text        *string           `json:"text,omitempty"`
	HTML        *string           `json:"html,omitempty"`
}

func newMessageJSON(k deliveries.MailboxMessage) messageJSON {
	return messageJSON{ID: int64(k.ID), Created: k.Created.UTC(), Channel: k.Channel, Protocol: string(k.Protocol), To: k.Message.To,
		Subject: k.Message.Subject, MessageID: k.Message.ID, Unsubscribe: k.Message.Unsubscribe, Facts: k.Message.Facts}
}

func (p Program) printMessages(found []deliveries.MailboxMessage, output string) error {
	if output == formatJSON {
		list := make([]messageJSON, len(found))
		for i, k := range found {
			list[i] = newMessageJSON(k)
		}
		return printJSON(p.Out, list)
	}
	t := newTable(p.Out, "ID", "KEPT", "CHANNEL", "TO", "SUBJECT")
	for _, k := range found {
		t.row(strconv.FormatInt(int64(k.ID), 10), formatTime(k.Created, "-"), oneLine(k.Channel), oneLine(k.Message.To), orDash(oneLine(k.Message.Subject)))
	}
	return t.flush()
}

func (p Program) mailboxShow() *cobra.Command {
	var organization string
	var html bool
	var output *format
	c := &cobra.Command{
		Use:               "show ID",
		Short:             "Print a message that a mailbox channel kept",
		Long:              "Print a kept message: what is known of it, an empty line, and its text.",
		Example:           "  tocsin mailbox show 17\n  tocsin mailbox show 17 --html > message.html\n  tocsin mailbox show 17 -o json",
		Args:              oneArgument("ID"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) error {
			id, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil || id <= 0 {
				return usagef("ID must be a number as `tocsin mailbox` prints it")
			}
			if html && output.value == formatJSON {
				return usagef("--html and -o json exclude each other, see %s --help", c.CommandPath())
			}
			return p.withServices(c, func(s Services) error {
				k, err := s.Mailbox.Show(c.Context(), organization, deliveries.MailboxID(id))
				if err != nil {
					return whichOrganization(err)
				}
				switch {
				case output.value == formatJSON:
					shown := newMessageJSON(k)
					shown.Text, shown.HTML = &k.Message.Text, &k.Message.HTML
					return printJSON(p.Out, shown)
				case !html:
					return p.printMessage(k)
				case k.Message.HTML == "":
					return fmt.Errorf("message %d has no HTML", id)
				}
				return p.printf("%s\n", strings.TrimSuffix(escapeHTML(k.Message.HTML), "\n"))
			})
		},
	}
	f := c.Flags()
	organizationFlag(f, &organization)
	f.BoolVar(&html, "html", false, "Print the HTML and nothing else")
	output = outputFlag(f, "text", formatJSON)
	return c
}

// printMessage prints the headers of a message, one per line, and then its text.
func (p Program) printMessage(k deliveries.MailboxMessage) error {
	m := k.Message
	w := tabwriter.NewWriter(p.Out, 0, 0, 1, ' ', 0)
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(w, "%s:\t%s\n", oneLine(name), oneLine(value))
		}
	}
	line("id", strconv.FormatInt(int64(k.ID), 10))
	line("kept", formatTime(k.Created, ""))
	line("channel", fmt.Sprintf("%s (%s)", k.Channel, k.Protocol))
	line("to", m.To)
	line("subject", m.Subject)
	line("message_id", m.ID)
	line("unsubscribe", m.Unsubscribe)
	for _, name := range slices.Sorted(maps.Keys(m.Facts)) {
		line(name, m.Facts[name])
	}
	if m.HTML != "" {
		line("html", fmt.Sprintf("%d bytes, printed with --html", len(m.HTML)))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return p.printf("\n%s\n", strings.TrimSuffix(multiLine(m.Text), "\n"))
}

func (p Program) mailboxClear() *cobra.Command {
	var of app.ChannelName
	c := &cobra.Command{
		Use:     "clear",
		Short:   "Delete the messages that mailbox channels kept",
		Long:    "Delete all kept messages of an organization, or those of one channel, and print how many there were.",
		Example: "  tocsin mailbox clear\n  tocsin mailbox clear --org acme --channel mail",
		Args:    noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := checkChannelFlags(c, of); err != nil {
				return err
			}
			return p.withServices(c, func(s Services) error {
				gone, err := s.Mailbox.Clear(c.Context(), caller(), of)
				if err != nil {
					return whichOrganization(err)
				}
				return p.printf("deleted %d messages\n", gone)
			})
		},
	}
	channelFlags(c.Flags(), &of)
	return c
}
