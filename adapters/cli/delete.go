package cli

import (
	"github.com/spf13/cobra"

	"github.com/tocsin/tocsin/app"
)

func (p Program) delete() *cobra.Command {
	c := &cobra.Command{
		Use:   "delete",
		Short: "Delete a list, a channel, an application or an event",
		Long: "Delete a list, a channel, an application or an event, which `apply` never does. An object in use is not deleted: the command\n" +
			"fails and lists what uses it. PATH is the path that `apply` prints.",
	}
	c.AddCommand(
		p.deleteOne(app.DeletableList, "  tocsin delete list acme/shop/customers"),
		p.deleteOne(app.DeletableChannel, "  tocsin delete channel acme/mail\n  tocsin delete channel acme/shop/mail"),
		p.deleteOne(app.DeletableApplication, "  tocsin delete application acme/shop/web"),
		p.deleteOne(app.DeletableEvent, "  tocsin delete event acme/shop/web/order-shipped"),
	)
	return c
}

func (p Program) deleteOne(kind app.Deletable, example string) *cobra.Command {
	return &cobra.Command{
		Use:               string(kind) + " PATH",
		Short:             "Delete the " + string(kind) + " at a path",
		Example:           example,
		Args:              oneArgument("PATH"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) error {
			if err := kind.CheckPath(args[0]); err != nil {
				return usagef("%s", err.Error())
			}
			return p.withServices(c, func(s Services) error {
				if err := s.Deletions.Delete(c.Context(), caller(), kind, args[0]); err != nil {
					return err
				}
				return p.printf("deleted %s %s\n", kind, args[0])
			})
		},
	}
}
