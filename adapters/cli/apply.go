package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/tocsin/tocsin/adapters/blueprint"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/operators"
)

// stdin is the file name for standard input.
const stdin = "-"

func (p Program) apply() *cobra.Command {
	var path string
	var dryRun bool
	var output *format
	c := &cobra.Command{
		Use:   "apply -f FILE",
		Short: "Create and update organizations, projects, channels, lists and applications from a file",
		Long: "Bring the database to what a YAML (or JSON) file describes: create what is missing, update what differs, delete nothing.\n" +
			"All of it or, when anything is wrong, nothing is applied. Applying a file again changes nothing.\n\n" +
			"Schema (members with a question mark may be missing):\n" +
			"  organizations: [{slug, name, groups?: [name], channels?: [CHANNEL],\n" +
			"    partials?: [{name, description?, text?, html?}], projects?: [{slug, name, channels?: [CHANNEL],\n" +
			"    lists?: [{name, application?: slug}],\n" +
			"    applications?: [{slug, name, active?, events?: [EVENT]}]}],\n" +
			"    default_region?, searchable_metadata?: [path], require_second_factor?, quotas?: {…}}]\n" +
			"  CHANNEL: {name, protocol: EMAIL|SMS|WEBHOOK|SLACK|PLAINTEXT, driver, preferred?, active?, pool?: name, weight?: 0 to 1000,\n" +
			"    settings?: {…}}\n" +
			"  EVENT: {slug, name, description?, active?, priority?: urgent|normal|bulk, context_schema?: {…}, channels?: [name],\n" +
			"    pools?: [name], templates?: [TEMPLATE], notifications?: [{name, list?, active?, templates?: [TEMPLATE]}]}\n" +
			"  TEMPLATE: {channel, subject?, text?, html? or markdown?}\n" +
			"When missing, active is true, preferred is false and weight is 100; priority is normal for a new event, and stays otherwise.\n" +
			"Of an object that exists, a missing member is removed: the pool and settings of a channel, the description, channels and pools of\n" +
			"an event, the application of a list, the list of a notification, the description of a partial, and the texts of a partial or a\n" +
			"template. Members with a value above get it; every other one stays.\n" +
			"In the texts of settings ${NAME} is replaced by an environment variable, which must be set, and $${ by ${.",
		Example: "  tocsin apply -f configs/demo.yaml\n" +
			"  tocsin apply -f demo.yaml --dry-run\n" +
			"  generate-config | tocsin apply -f - -o json",
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if path == "" {
				return usagef("which file? Name it with -f, or standard input with -f -")
			}
			file, err := p.readBlueprint(c.Context(), path)
			if err != nil {
				return err
			}
			return p.withDatabase(c, !dryRun, func(s Services) error {
				done, err := s.Provisioning.Apply(c.Context(), operators.Editor{Actor: caller(), Level: operators.Installation}, file.Blueprint, dryRun)
				if err != nil {
					return file.Locate(err)
				}
				return p.printApplied(done, dryRun, output.value)
			})
		},
	}
	c.Flags().StringVarP(&path, "file", "f", "", "File to apply, - for standard input (required)")
	c.Flags().BoolVar(&dryRun, "dry-run", false, "Only say what would be done")
	output = outputFlag(c.Flags(), "table", formatJSON)
	return c
}

func (p Program) readBlueprint(ctx context.Context, path string) (blueprint.File, error) {
	name, in := "standard input", p.In
	if path != stdin {
		file, err := os.Open(path)
		if err != nil {
			return blueprint.File{}, err
		}
		defer func() { _ = file.Close() }() // It was only read.
		name, in = path, file
	}
	read := make(chan []byte, 1)
	err := interruptible(ctx, func() error {
		text, err := io.ReadAll(io.LimitReader(in, blueprint.MaxBytes+1))
		read <- text
		return err
	})
	if err != nil {
		return blueprint.File{}, err
	}
	return blueprint.Parse(name, <-read, p.Environ)
}

// appliedJSON is the result for one object in the output of -o json.
type appliedJSON struct {
	Kind   string     `json:"kind"`
	Path   string     `json:"path"`
	ID     int64      `json:"id"`
	Action app.Action `json:"action"`
}

func (p Program) printApplied(done []app.Applied, dryRun bool, output string) error {
	count := map[app.Action]int{}
	for _, a := range done {
		count[a.Action]++
	}
	var err error
	if output == formatJSON {
		list := make([]appliedJSON, len(done))
		for i, a := range done {
			list[i] = appliedJSON(a)
		}
		err = printJSON(p.Out, list)
	} else {
		t := newTable(p.Out, "KIND", "PATH", "ID", "ACTION")
		for _, a := range done {
			id := strconv.FormatInt(a.ID, 10)
			if a.ID == 0 {
				id = "-"
			}
			t.row(a.Kind, a.Path, id, string(a.Action))
		}
		err = t.flush()
	}
	note := ""
	if dryRun {
		note = "dry run, nothing was written: "
	}
	_, _ = fmt.Fprintf(p.Err, "%s%d created, %d updated, %d unchanged\n", note,
		count[app.Created], count[app.Updated], count[app.Unchanged])
	return err
}
