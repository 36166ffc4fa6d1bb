// Package cli is the command line of Tocsin: it parses arguments, calls use cases and prints their
// results. The composition root passes it functions for the database, the server and the
// configuration.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/app/backup"
	"github.com/tocsin/tocsin/app/importer"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/ports"
)

// The exit statuses. Only import uses status 3.
const (
	statusDone     = 0
	statusFailed   = 1
	statusUsage    = 2
	statusRejected = 3
)

// Program is what the commands need from the composition root. Every field must be set. The flag
// sets passed to its functions hold the parsed flags of the current command.
type Program struct {
	Version string
	In      io.Reader
	Out     io.Writer
	Err     io.Writer
	Environ []string // `NAME=value`, as os.Environ returns it

	// Flags registers the flags of the settings that every command uses, ServerFlags those that
	// only the server uses.
	Flags       func(*pflag.FlagSet)
	ServerFlags func(*pflag.FlagSet)

	// Settings returns the configuration for display.
	Settings func(*pflag.FlagSet) ([]Setting, error)
	// Check returns the mistakes in the configuration and in the files that it names.
	Check func(*pflag.FlagSet) error
	// Listen returns where the server listens.
	Listen func(*pflag.FlagSet) (Endpoint, error)
	// Serve serves requests until ctx ends, and then finishes the requests in progress. It returns
	// nil if the shutdown succeeded.
	Serve func(ctx context.Context, flags *pflag.FlagSet, serving ServeOptions) error
	// Work sends messages until ctx ends, then finishes the attempts in progress.
	Work func(context.Context, *pflag.FlagSet) error
	// Open opens the database and returns the use cases on it, and a function that closes it. An
	// absent database is an error unless it may be created.
	Open func(ctx context.Context, flags *pflag.FlagSet, mayCreate bool) (Services, func(), error)
	// Migrate brings the schema up to date and returns the migrations that it applied, in order.
	Migrate func(context.Context, *pflag.FlagSet) ([]Migration, error)
	// MigrationPlan returns what Migrate would do, statement by statement, and changes nothing.
	MigrationPlan func(context.Context, *pflag.FlagSet) ([]PlannedStep, error)
	// Backup writes a copy of the database to a file, and the secret key to another if withKey is
	// set. It returns a summary and the path of the key.
	Backup func(ctx context.Context, flags *pflag.FlagSet, file string, withKey bool) (done backup.Summary, keyFile string, err error)
	// Restore fills an empty database with a copy, and holds the installation.
	Restore func(ctx context.Context, flags *pflag.FlagSet, file string, by audit.Actor) (backup.Summary, error)
	// Copy fills an empty database with everything from a read-only one, or adds one organization
	// of it to another one, and holds the copy.
	Copy func(ctx context.Context, flags *pflag.FlagSet, what CopyOptions) (backup.Summary, error)
	// Verify checks the database and returns what is wrong.
	Verify func(context.Context, *pflag.FlagSet) ([]ports.Finding, error)
	// Migrations returns every migration that the program or the database knows, in order, and
	// changes nothing.
	Migrations func(context.Context, *pflag.FlagSet) ([]Migration, error)
}

// CopyOptions are the options of Program.Copy.
type CopyOptions struct {
	From, To string // databases; an empty From: the configured one
	Restart  bool   // start over instead of resuming an interrupted copy
	By       audit.Actor

	Organization string // copy only this one; empty: everything
	DryRun       bool   // of one organization: only count, and look for conflicts
}

// ServeOptions are the options of Program.Serve.
type ServeOptions struct {
	Send bool        // it sends messages; otherwise another process has to
	Hold bool        // hold the installation first
	By   audit.Actor // the user who starts it
}

// Services are the use cases that the commands call.
type Services struct {
	Provisioning *app.Provisioning
	Keys         *app.Keys
	Imports      *importer.Imports
	Deletions    *app.Deletions
	Retries      *app.Retries
	Occurrences  *app.Occurrences
	Reencryption *app.Reencryption
	Mailbox      *app.Mailbox
	ChannelTests *app.ChannelTests

	Administration *app.Administration
	Factors        *app.Factors
	SingleSignOn   *app.SingleSignOn
	Audit          *app.Audit
	Installation   *app.Installation
}

// Setting is a setting in effect, with secrets masked.
type Setting struct {
	Name   string
	Value  string
	Origin string // where the value came from
}

// Migration is one migration of the database's schema.
type Migration struct {
	Name    string
	Applied time.Time // zero: not yet
}

// PlannedStep is a statement of a migration to be applied.
type PlannedStep struct {
	Migration string
	Statement string
	Table     string // empty: none
	Lock      string
	Work      string
	Rows      int64 // of the table, estimated; negative: unknown
	Blocks    bool  // it blocks other statements for a noticeable time
}

// Run executes one command line, args without the program's name, and returns the exit status: 0
// done, 1 failed, 2 usage; for an import 3 when rows were rejected. When ctx ends the command stops
// as soon as it safely can.
func (p Program) Run(ctx context.Context, args []string) int {
	root := p.root() //nolint:contextcheck // Cobra hands the commands their context.
	root.SetArgs(args)
	started := false
	root.InitDefaultCompletionCmd(args...)
	prepare(root, &started)

	err := root.ExecuteContext(ctx)
	var usage *usageError
	switch {
	case err == nil:
		return statusDone
	case errors.Is(err, errRejected):
		return statusRejected
	case errors.Is(err, errReported), errors.Is(err, ErrLogged):
		return statusFailed
	case ctx.Err() != nil && isInterruption(err):
		p.printError("interrupted")
		return statusFailed
	case !started || errors.As(err, &usage): // A command that did not start has a mistake in its arguments.
		p.printError(err.Error())
		return statusUsage
	}
	p.printError(err.Error())
	return statusFailed
}

func isInterruption(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// printError prints an error with the prefix "tocsin: ". Each line that is not indented is a
// separate error.
func (p Program) printError(message string) {
	for l := range strings.SplitSeq(strings.ReplaceAll(message, "\t", "  "), "\n") {
		if !strings.HasPrefix(l, " ") {
			l = "tocsin: " + l
		}
		_, _ = fmt.Fprintln(p.Err, oneLine(l))
	}
}

// Errors that only select the exit status. Their message has been printed.
var (
	errRejected = errors.New("some rows were rejected")
	errReported = errors.New("failed")
)

// ErrLogged is the result of Program.Serve and Program.Work if they have logged their error.
var ErrLogged = errors.New("the error was logged")

// usageError is an error in the arguments that a command finds when it runs.
type usageError struct{ message string }

func (e *usageError) Error() string { return e.message }

func usagef(format string, args ...any) error {
	return &usageError{message: fmt.Sprintf(format, args...)}
}

func (p Program) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "tocsin",
		Short: "A notification service: users, distribution lists, applications and subscriptions",
		Long: "Tocsin is a notification service. It keeps organizations with their projects, applications, users and distribution\n" +
			"lists, and serves them over HTTP.\n\n" +
			"Exit status: 0 done, 1 failed, 2 wrong usage; import: 3 when some rows were rejected.",
		Version:       p.Version,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetIn(p.In)
	root.SetOut(p.Out)
	root.SetErr(p.Err)
	root.SetVersionTemplate("tocsin {{.Version}}\n")
	root.SetHelpCommand(p.help())
	// Most commands with subcommands cannot be called alone. They are runnable only to print an
	// error.
	root.SetUsageTemplate(strings.Replace(root.UsageTemplate(), "{{if .Runnable}}",
		`{{if or (not .HasAvailableSubCommands) (eq (index .Annotations "`+runnable+`") "yes")}}`, 1))
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usagef("%s, see %s --help", err.Error(), c.CommandPath())
	})
	p.Flags(root.PersistentFlags())
	root.AddCommand(p.serve(), p.worker(), p.healthcheck(), p.migrate(), p.config(), p.apply(), p.delete(), p.key(), p.imports(), p.deliveries(), p.trace(),
		p.channel(), p.mailbox(), p.reencrypt(), p.release(), p.maintenance(),
		p.backup(), p.restore(), p.copy(), p.verify(), p.admin(), p.audit(), p.version(), p.man())
	return root
}

// runnable is the annotation of commands with subcommands that can be called alone.
const runnable = "alone"

// prepare makes all commands of a tree set started when they run, and makes commands with
// subcommands refuse to run alone.
func prepare(c *cobra.Command, started *bool) {
	if c.HasSubCommands() && !c.Runnable() {
		c.Args, c.RunE = unknownCommand, missingCommand
	}
	if run := c.RunE; run != nil {
		c.RunE = func(cmd *cobra.Command, args []string) error {
			*started = true
			return run(cmd, args)
		}
	}
	for _, sub := range c.Commands() {
		prepare(sub, started)
	}
}

func unknownCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	c.SuggestionsMinimumDistance = 2
	if similar := c.SuggestionsFor(args[0]); len(similar) > 0 {
		return usagef("unknown command %q, did you mean %q? See %s --help", args[0], similar[0], c.CommandPath())
	}
	return usagef("unknown command %q, see %s --help", args[0], c.CommandPath())
}

func missingCommand(c *cobra.Command, _ []string) error {
	c.SetOut(c.ErrOrStderr())
	_ = c.Help()
	return usagef("which command?")
}

// oneArgument validates exactly one argument; name is its name in errors.
func oneArgument(name string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch len(args) {
		case 0:
			return usagef("%s is missing, see %s --help", name, c.CommandPath())
		case 1:
			return nil
		}
		return usagef("%s is one argument, but there are %d, see %s --help", name, len(args), c.CommandPath())
	}
}

func noArguments(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("the argument %q means nothing here, see %s --help", args[0], c.CommandPath())
	}
	return nil
}

func (p Program) help() *cobra.Command {
	return &cobra.Command{
		Use:   "help [command]",
		Short: "Explain a command",
		RunE: func(c *cobra.Command, args []string) error {
			about, rest, err := c.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return usagef("there is no command %q, see tocsin --help", strings.Join(args, " "))
			}
			about.InitDefaultHelpFlag()
			about.InitDefaultVersionFlag()
			return about.Help()
		},
	}
}

// withServices opens the database, which must exist, calls a function with the use cases, and
// closes it.
func (p Program) withServices(c *cobra.Command, call func(Services) error) error {
	return p.withDatabase(c, false, call)
}

// withDatabase is withServices for commands that may begin an installation: if mayCreate is set, an
// absent database is created.
func (p Program) withDatabase(c *cobra.Command, mayCreate bool, call func(Services) error) error {
	services, closeAll, err := p.Open(c.Context(), c.Flags(), mayCreate)
	if err != nil {
		return err
	}
	defer closeAll()
	return call(services)
}
