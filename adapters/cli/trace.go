package cli

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/deliveries"
)

func (p Program) trace() *cobra.Command {
	var output *format
	c := &cobra.Command{
		Use:   "trace DELIVERY",
		Short: "Print the history of one delivery, from the request on",
		Long: "Print the history of one delivery: its trigger, with the request's id, the recipient, the attempts, the\n" +
			"provider's last answer, and what it waits for. The log of a server or worker names the id of each delivery that has failed,\n" +
			"and so does its page in the console.",
		Example: "  tocsin trace 4711",
		Args:    oneArgument("DELIVERY"),
		RunE: func(c *cobra.Command, args []string) error {
			id, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil || id <= 0 {
				return usagef("%q is no id of a delivery, see %s --help", args[0], c.CommandPath())
			}
			return p.withServices(c, func(s Services) error {
				found, err := s.Occurrences.Trace(c.Context(), deliveries.ID(id))
				if err != nil {
					return err
				}
				if output.value == formatJSON {
					return printJSON(p.Out, traceOf(found))
				}
				return p.printTrace(traceOf(found))
			})
		},
	}
	output = outputFlag(c.Flags(), "table", formatJSON)
	return c
}

// deliveryTrace is the output of a trace. Times are in UTC.
type deliveryTrace struct {
	Delivery     int64  `json:"delivery"`
	State        string `json:"state"`
	Reason       string `json:"reason,omitempty"`
	Organization string `json:"organization"`
	Project      string `json:"project"`
	Application  string `json:"application"`
	Event        string `json:"event,omitempty"`
	Occurrence   int64  `json:"occurrence"`
	Correlation  string `json:"correlation_id,omitempty"`
	Request      string `json:"request,omitempty"`
	Traceparent  string `json:"traceparent,omitempty"`
	Priority     string `json:"priority"`
	Triggered    string `json:"triggered"`
	SendAt       string `json:"send_at,omitempty"`
	ExpiresAt    string `json:"expires_at,omitempty"`
	Cancelled    string `json:"cancelled,omitempty"`
	Recipient    string `json:"recipient,omitempty"`
	Address      string `json:"address"`
	Channel      string `json:"channel,omitempty"`
	Protocol     string `json:"protocol"`
	Created      string `json:"created"`
	Attempts     int    `json:"attempts"`
	LastError    string `json:"last_error,omitempty"`
	WaitsFor     string `json:"waits_for,omitempty"`
	Since        string `json:"since,omitempty"`        // when the channel began to fail
	NextAttempt  string `json:"next_attempt,omitempty"` // empty: as soon as possible
	ChannelError string `json:"channel_error,omitempty"`
	Finished     string `json:"finished,omitempty"`
}

func traceOf(t app.DeliveryTrace) deliveryTrace {
	o, d := t.Occurrence, t.Delivery
	return deliveryTrace{
		Delivery: int64(d.ID), State: string(d.State), Reason: string(d.Reason),
		Organization: t.Place.Organization, Project: t.Place.Project, Application: t.Place.Application, Event: t.Event,
		Occurrence: int64(o.ID), Correlation: o.CorrelationID, Request: o.RequestID, Traceparent: o.Traceparent, Priority: o.Priority.String(),
		Triggered: formatTime(o.Created, ""), SendAt: formatTime(o.Options.SendAt, ""), ExpiresAt: formatTime(o.Options.ExpiresAt, ""), Cancelled: formatTime(o.Cancelled, ""),
		Recipient: d.Username, Address: d.Address, Channel: d.Channel, Protocol: string(d.Protocol), Created: formatTime(d.Created, ""),
		Attempts: d.Attempts, LastError: d.LastError, WaitsFor: string(d.Waiting.For), Since: formatTime(d.Waiting.Since, ""), NextAttempt: formatTime(d.Waiting.Until, ""),
		ChannelError: d.Waiting.Error, Finished: formatTime(d.Finished, ""),
	}
}

// printTrace prints a trace in chronological order.
func (p Program) printTrace(t deliveryTrace) error {
	out := newTable(p.Out, "DELIVERY", strconv.FormatInt(t.Delivery, 10))
	for _, line := range [][2]string{
		{"application", t.Organization + "/" + t.Project + "/" + t.Application},
		{"event", t.Event},
		{"occurrence", strconv.FormatInt(t.Occurrence, 10)},
		{"correlation id", t.Correlation},
		{"request", t.Request},
		{"traceparent", t.Traceparent},
		{"priority", t.Priority},
		{"triggered", t.Triggered},
		{"to be sent at", t.SendAt},
		{"expires at", t.ExpiresAt},
		{"cancelled", t.Cancelled},
		{"recipient", cmp.Or(t.Recipient, "gone")},
		{"address", t.Address},
		{"channel", fmt.Sprintf("%s (%s)", cmp.Or(t.Channel, "gone"), t.Protocol)},
		{"recipient found", t.Created},
		{"attempts", strconv.Itoa(t.Attempts)},
		{"last error", t.LastError},
		{"state", t.State},
		{"reason", t.Reason},
		{"waits for", t.WaitsFor},
		{"since", t.Since},
		{"channel's error", t.ChannelError},
		{"next attempt", t.NextAttempt},
		{"finished", t.Finished},
	} {
		if line[1] != "" {
			out.row(line[0], oneLine(line[1]))
		}
	}
	return out.flush()
}
