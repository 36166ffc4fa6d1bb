package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

func (p Program) copy() *cobra.Command {
	var from, to string
	c := &cobra.Command{
		Use:   "copy",
		Short: "Copy everything to another database",
		Long: "Copy everything from one database to another, such as from SQLite to Postgres, without a file between them. The source must be\n" +
			"read-only (`tocsin maintenance on`) and send nothing any more. The destination must be empty; its schema is made first where it\n" +
			"is missing. All of it is copied, or nothing: what was written is read again and compared before it is kept, and a copy that was\n" +
			"interrupted leaves the destination empty, so that the command can be repeated. The copy is held then: point database_url to it,\n" +
			"keep the secret key, and have `tocsin release` send what waits. Never release the source again.\n\n" +
			"Others on this machine see the command line: leave a password out of it, in PGPASSWORD or in the file ~/.pgpass.",
		Example: "  tocsin copy --to postgres://tocsin@db.example.org/tocsin\n" +
			"  tocsin copy --from postgres://tocsin@db.example.org/tocsin --to sqlite:data/tocsin.db",
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if to == "" {
				return usagef("--to is missing, see %s --help", c.CommandPath())
			}
			done, err := p.Copy(c.Context(), c.Flags(), from, to, caller())
			if err != nil {
				return err
			}
			if err := p.printSummary(done); err != nil {
				return err
			}
			_, err = fmt.Fprintf(p.Out, "copied %d rows, which were read again and compared; the copy is held until `tocsin release`\n", done.Rows())
			return err
		},
	}
	c.Flags().StringVar(&from, "from", "", "Database to copy (default: database_url)")
	c.Flags().StringVar(&to, "to", "", "Database to copy to")
	return c
}
