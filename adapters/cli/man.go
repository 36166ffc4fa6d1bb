package cli

import (
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// man is a hidden command for packagers.
func (p Program) man() *cobra.Command {
	return &cobra.Command{
		Use:     "man FOLDER",
		Short:   "Write the manual pages",
		Long:    "Write the manual pages of all commands into a folder that exists, as packages install them.",
		Example: "  tocsin man /usr/local/share/man/man1",
		Args:    oneArgument("FOLDER"),
		Hidden:  true,
		RunE: func(c *cobra.Command, args []string) error {
			root := c.Root()
			root.DisableAutoGenTag = true
			// The pages have no date, so that builds are reproducible.
			header := &doc.GenManHeader{Section: "1", Source: "tocsin " + p.Version, Manual: "Tocsin", Date: &time.Time{}}
			return doc.GenManTree(root, header, args[0])
		},
	}
}
