package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tocsin/tocsin/adapters/sheets"
	"github.com/tocsin/tocsin/app/importer"
	"github.com/tocsin/tocsin/domain/imports"
	"github.com/tocsin/tocsin/domain/users"
)

func (p Program) imports() *cobra.Command {
	c := &cobra.Command{Use: "import", Short: "Import many users at once"}
	c.AddCommand(p.importUsers())
	return c
}

// importFlags are the flags of an import.
type importFlags struct {
	what     importer.Import
	encoding string   // of the file; empty: it is detected
	columns  []string // the fields of columns: NAME=FIELD
	errors   string   // where rejected rows go
	output   *format
}

func (p Program) importUsers() *cobra.Command {
	var f importFlags
	c := &cobra.Command{
		Use:   "users PATH",
		Short: "Import users from a CSV file or an Excel workbook",
		Long: "Import users from a CSV file or the first sheet of a workbook (.xlsx), - for standard input. A header; in CSV commas, semicolons\n" +
			"or tabs. Columns, also by usual names such as E-Mail or Vorname:\n" +
			detailColumns() +
			"  custom__KEY    merged into the user's metadata under KEY, when not empty\n" +
			"Each row makes a user, if there is none yet, a member of the organization, with an e-mail address. Rows that are wrong are\n" +
			"rejected, each with its reason, and the others go on. An import may be interrupted (Ctrl-C: it stops after the rows in\n" +
			"hand) and repeated.\n\n" +
			"Exit status: 0 no row was rejected, 3 some were, 1 the import could not be done or finished, 2 wrong usage.",
		Example: "  tocsin import users people.csv --org acme --group Staff --create-group\n" +
			"  tocsin import users people.csv --dry-run\n" +
			"  tocsin import users people.csv --map Kontakt=email --map Abteilung=custom__department\n" +
			"  zcat people.csv.gz | tocsin import users - --errors rejected.csv -o json",
		Args: oneArgument("PATH"),
		RunE: func(c *cobra.Command, args []string) error {
			if f.what.CreateGroup && f.what.Group == "" {
				return usagef("--create-group needs --group")
			}
			for _, column := range f.columns {
				if !strings.Contains(column, "=") {
					return usagef("--map %q is not COLUMN=FIELD, such as Vorname=first_name", column)
				}
			}
			if f.encoding != "" && !slices.Contains(sheets.Encodings(), f.encoding) {
				return usagef("--encoding %q is not one of %s", f.encoding, strings.Join(sheets.Encodings(), ", "))
			}
			return p.runImport(c, args[0], f)
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.what.Organization, "org", "", "Organization (slug); when omitted, the one with the lowest id")
	flags.StringVar(&f.what.Group, "group", "", "Group of the organization that every imported user is added to")
	flags.BoolVar(&f.what.CreateGroup, "create-group", false, "Create the group when it is missing")
	flags.StringVar(&f.encoding, "encoding", "", "Encoding of a CSV file: "+strings.Join(sheets.Encodings(), ", ")+"; when omitted, it is detected")
	flags.StringArrayVar(&f.columns, "map", nil, "What a column becomes, COLUMN=FIELD; FIELD is "+strings.Join(users.DetailNames(), ", ")+", custom__KEY or ignore; repeatable")
	flags.BoolVar(&f.what.DryRun, "dry-run", false, "Only say what would be done")
	flags.StringVar(&f.errors, "errors", "", "File for the rejected rows, with line and reason, to be corrected and imported again")
	f.output = outputFlag(flags, "text", formatJSON)
	return c
}

// detailColumns describes the columns of details, one in a line.
func detailColumns() string {
	var b strings.Builder
	for _, name := range users.DetailNames() {
		when := "only for new members"
		if name == "email" {
			when = "required"
		}
		fmt.Fprintf(&b, "  %-14s %s\n", name, when)
	}
	return b.String()
}

func (p Program) runImport(c *cobra.Command, path string, f importFlags) error {
	source, err := p.openImport(c.Context(), path)
	if err != nil {
		return err
	}
	defer source.close()
	rejected, err := openRejectedFile(f.errors, source.file)
	if err != nil {
		return err
	}
	defer rejected.discard()
	opener := sheets.NewOpener()
	f.what.Name = path
	if len(f.columns) > 0 {
		f.what.Map = f.applyColumns
	}
	return p.withServices(c, func(s Services) error {
		watch := newImportWatch(p.Err, rejected)
		f.what.Open = func() (_ io.ReadCloser, err error) {
			watch.table, err = opener.Open(c.Context(), "", source.open(), f.encoding)
			return watch.table, err
		}
		report, err := s.Imports.Run(c.Context(), caller(), f.what, watch)
		watch.end()
		if !watch.started {
			return err
		}
		stopped := err != nil && !f.what.DryRun && 0 < report.Rows() && report.Rows() < watch.rows
		// Print the result even if the import failed.
		err = errors.Join(err, rejected.keep(), p.printReport(report, watch, f))
		switch {
		case err == nil && report.Rejected > 0:
			return errRejected
		case err != nil && c.Context().Err() != nil && isInterruption(err):
			p.printError(fmt.Sprintf("interrupted after %d of %d rows; import the file again for the rest", report.Rows(), watch.rows))
			return errReported
		case stopped: // What was written stays.
			p.printError(fmt.Sprintf("%v\nstopped after %d of %d rows; import the file again for the rest", err, report.Rows(), watch.rows))
			return errReported
		}
		return err
	})
}

// applyColumns applies the flags --map to a mapping.
func (f importFlags) applyColumns(m imports.Mapping) (_ imports.Mapping, err error) {
	for _, column := range f.columns {
		at := strings.LastIndex(column, "=") // A name may contain one.
		if m, err = m.With(column[:at], column[at+1:]); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// reportJSON is the report in the output of -o json.
type reportJSON struct {
	Organization string `json:"organization"`
	DryRun       bool   `json:"dry_run"`
	ReadAs       string `json:"read_as"` // the encoding, or the sheet of the workbook
	Rows         int    `json:"rows"`    // in the file
	Created      int    `json:"created"`
	Enrolled     int    `json:"enrolled"`
	Updated      int    `json:"updated"`
	Unchanged    int    `json:"unchanged"`
	Duplicates   int    `json:"duplicates"`
	Rejected     int    `json:"rejected"`
}

func (p Program) printReport(r imports.Report, w *importWatch, f importFlags) error {
	if f.output.value == formatJSON {
		return printJSON(p.Out, reportJSON{Organization: w.organization, DryRun: f.what.DryRun, ReadAs: w.table.Source, Rows: w.rows, Created: r.Created,
			Enrolled: r.Enrolled, Updated: r.Updated, Unchanged: r.Unchanged, Duplicates: r.Duplicates, Rejected: r.Rejected})
	}
	if f.what.DryRun {
		if _, err := fmt.Fprintln(p.Out, "dry run, nothing was written"); err != nil {
			return err
		}
	}
	return p.printf("created     %d\nenrolled    %d\nupdated     %d\nunchanged   %d\nduplicates  %d\nrejected    %d\n",
		r.Created, r.Enrolled, r.Updated, r.Unchanged, r.Duplicates, r.Rejected)
}
