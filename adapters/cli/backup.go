package cli

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/tocsin/tocsin/app/backup"
)

func (p Program) backup() *cobra.Command {
	var withKey bool
	c := &cobra.Command{
		Use:   "backup FILE",
		Short: "Write a copy of everything to a file",
		Long: "Write a consistent copy of everything in the database to a file that does not exist yet. The installation can keep running.\n" +
			"The copy is the same whichever database it comes from, so it can be restored to SQLite and to Postgres.\n\n" +
			"The settings of channels stay encrypted in it: without the secret key they are lost. With --with-key the key is written beside\n" +
			"it, to FILE.key; with both, everything can be read. It refuses a key that cannot decrypt everything.",
		Example: "  tocsin backup /backups/tocsin-2026-11-23.zst\n" +
			"  tocsin backup --with-key /vault/tocsin.zst",
		Args: oneArgument("FILE"),
		RunE: func(c *cobra.Command, args []string) error {
			done, key, err := p.Backup(c.Context(), c.Flags(), args[0], withKey)
			if err != nil {
				return err
			}
			if err := p.printSummary(done); err != nil {
				return err
			}
			if key == "" {
				key = "the secret key is not in it: keep that, too"
			} else {
				key = "the secret key is in " + key
			}
			return p.printf("%s\n", oneLine(key))
		},
	}
	c.Flags().BoolVar(&withKey, "with-key", false, "Write the secret key beside it, to FILE.key")
	return c
}

func (p Program) restore() *cobra.Command {
	return &cobra.Command{
		Use:   "restore FILE",
		Short: "Fill an empty database with a copy",
		Long: "Fill an empty database, whose schema is created first if it is missing, with a copy that `tocsin backup` wrote: all of it or\n" +
			"nothing. The program must have the schema that the copy has. The installation is held then, so that what was pending when the\n" +
			"copy was taken is not sent again: `tocsin verify` checks it, and `tocsin release` tells what waits and has it sent.",
		Example: "  tocsin restore /backups/tocsin-2026-11-23.zst\n" +
			"  tocsin restore copy.zst --database-url sqlite:data/tocsin.db",
		Args: oneArgument("FILE"),
		RunE: func(c *cobra.Command, args []string) error {
			done, err := p.Restore(c.Context(), c.Flags(), args[0], caller())
			if err != nil {
				return err
			}
			if err := p.printSummary(done); err != nil {
				return err
			}
			return p.printf("restored as it was at %s; the installation is held until `tocsin release`\n", formatTime(done.Taken, "-"))
		},
	}
}

func (p Program) printSummary(done backup.Summary) error {
	t := newTable(p.Out, "TABLE", "ROWS", "SUM")
	for _, c := range done.Tables {
		t.row(c.Table, strconv.FormatInt(c.Rows, 10), c.Sum)
	}
	return t.flush()
}

func (p Program) verify() *cobra.Command {
	return &cobra.Command{
		Use:   "verify",
		Short: "Check the database for faults",
		Long: "Check the database for faults, and change nothing: whether its schema is this program's, whether all references are valid,\n" +
			"whether counters match the rows they count, and whether encrypted values can be decrypted with secret_key.\n" +
			"It reads everything, and may take minutes.\n\n" +
			"Exit status: 0 no faults, 1 faults were found.",
		Example: "  tocsin verify",
		Args:    noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			found, err := p.Verify(c.Context(), c.Flags())
			if err != nil {
				return err
			}
			var result error
			for _, f := range found {
				status := "OK     "
				if len(f.Wrong) > 0 {
					status, result = "WRONG  ", errReported
				}
				if _, err := fmt.Fprintln(p.Out, status+f.Check); err != nil {
					return err
				}
				for _, w := range f.Wrong {
					if _, err := fmt.Fprintln(p.Out, oneLine("       "+w)); err != nil {
						return err
					}
				}
			}
			return result
		},
	}
}
