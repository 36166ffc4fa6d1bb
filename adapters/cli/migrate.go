package cli

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"
)

func (p Program) migrate() *cobra.Command {
	c := &cobra.Command{
		Use:   "migrate",
		Short: "Manage the schema of the database",
		Long: "Manage the schema of the database. Unless auto_migrate is off, every command that opens the database brings its schema up to\n" +
			"date first, and none of these is needed.",
	}
	up := &cobra.Command{
		Use:   "up",
		Short: "Bring the schema up to date",
		Long: "Bring the schema up to date, whatever auto_migrate says, and print the migrations that were missing. Several processes may\n" +
			"do so at the same time: one works, the others wait.",
		Example: "  tocsin migrate up\n" +
			"  tocsin migrate up --database-url sqlite:data/tocsin.db",
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			applied, err := p.Migrate(c.Context(), c.Flags())
			if err != nil {
				return err
			}
			for _, m := range applied {
				if _, err := fmt.Fprintln(p.Out, "applied "+m.Name); err != nil {
					return err
				}
			}
			return p.printf("the schema is up to date\n")
		},
	}
	status := &cobra.Command{
		Use:     "status",
		Short:   "Print the migrations and when they were applied",
		Example: "  tocsin migrate status",
		Args:    noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			all, err := p.Migrations(c.Context(), c.Flags())
			if err != nil {
				return err
			}
			t := newTable(p.Out, "MIGRATION", "APPLIED")
			for _, m := range all {
				t.row(m.Name, formatTime(m.Applied, "pending"))
			}
			return t.flush()
		},
	}
	plan := &cobra.Command{
		Use:   "plan",
		Short: "Print what `migrate up` would do, and which tables it would lock",
		Long: "Print the statements of the migrations that are missing, with the table that each works on, about how many rows that has,\n" +
			"which lock it takes, and what it does to the rows. A line that begins with BLOCKS makes other sessions wait noticeably.\n" +
			"Nothing is changed.",
		Example: "  tocsin migrate plan",
		Args:    noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			steps, err := p.MigrationPlan(c.Context(), c.Flags())
			if err != nil {
				return err
			}
			return p.printPlan(steps)
		},
	}
	c.AddCommand(up, status, plan)
	return c
}

func (p Program) printPlan(steps []PlannedStep) error {
	if len(steps) == 0 {
		return p.printf("the schema is up to date\n")
	}
	t := newTable(p.Out, "", "MIGRATION", "TABLE", "ROWS", "LOCK", "WORK", "STATEMENT")
	for _, s := range steps {
		blocks, rows, statement := "", "-", s.Statement
		if s.Blocks {
			blocks = "BLOCKS"
		}
		if s.Rows >= 0 {
			rows = strconv.FormatInt(s.Rows, 10)
		}
		if runes := []rune(statement); len(runes) > planWidth {
			statement = string(runes[:planWidth-1]) + "…"
		}
		t.row(blocks, s.Migration, cmp.Or(s.Table, "-"), rows, s.Lock, cmp.Or(s.Work, "-"), statement)
	}
	return t.flush()
}

// planWidth is the maximum width of a printed statement, in characters.
const planWidth = 80
