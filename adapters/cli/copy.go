package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

func (p Program) copy() *cobra.Command {
	var what CopyOptions
	c := &cobra.Command{
		Use:   "copy",
		Short: "Copy everything to another database",
		Long: "Copy everything from one database to another, such as from SQLite to Postgres, without a file between them. The source must be\n" +
			"read-only (`tocsin maintenance on`) and have stopped sending. The destination must be empty; its schema is created first if it\n" +
			"is missing. An interrupted copy resumes when the command is repeated, as long as the source has stayed read-only; with\n" +
			"--restart it starts over. What was written is read again and compared; before that no program serves it. The\n" +
			"copy is held then: point database_url to it, keep the secret key, and have `tocsin release` send what waits. Never release the\n" +
			"source again.\n\n" +
			"With --organization one organization alone is copied, in one transaction, to a database that may hold others. Hold both\n" +
			"installations (`tocsin serve --hold`); an unused destination need not be held. Everything keeps its id; ids and usernames that\n" +
			"are taken there are refused. Accounts of the console stay: members keep their roles and are invited again.\n\n" +
			"Others on this machine see the command line: leave a password out of it, in PGPASSWORD or in the file ~/.pgpass.",
		Example: "  tocsin copy --to postgres://tocsin@db.example.org/tocsin\n" +
			"  tocsin copy --from postgres://tocsin@db.example.org/tocsin --to sqlite:data/tocsin.db\n" +
			"  tocsin copy --organization acme --to postgres://tocsin@db.example.org/tocsin --dry-run",
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if what.To == "" {
				return usagef("--to is missing, see %s --help", c.CommandPath())
			}
			switch {
			case what.DryRun && what.Organization == "":
				return usagef("--dry-run is for --organization, see %s --help", c.CommandPath())
			case what.Restart && what.Organization != "":
				return usagef("--restart is for a copy of everything: of an organization nothing is left when it is interrupted, see %s --help", c.CommandPath())
			}
			what.By = caller()
			done, err := p.Copy(c.Context(), c.Flags(), what)
			if err != nil {
				return err
			}
			if err := p.printSummary(done); err != nil {
				return err
			}
			if done.Resumed {
				if _, err := fmt.Fprintln(p.Out, "went on where the copy had been interrupted"); err != nil {
					return err
				}
			}
			if what.DryRun {
				return p.printf("%d rows would be copied; nothing was\n", done.Rows())
			}
			return p.printf("copied %d rows, which were read again and compared; the copy is held until `tocsin release`\n", done.Rows())
		},
	}
	c.Flags().StringVar(&what.From, "from", "", "Database to copy (default: database_url)")
	c.Flags().StringVar(&what.To, "to", "", "Database to copy to")
	c.Flags().StringVar(&what.Organization, "organization", "", "Copy only one organization (slug)")
	c.Flags().BoolVar(&what.DryRun, "dry-run", false, "Count the rows of the organization and look for conflicts, and copy nothing")
	c.Flags().BoolVar(&what.Restart, "restart", false, "Start an interrupted copy over instead of resuming it")
	return c
}
