package cli

import (
	"encoding/json"
	"runtime"

	"github.com/spf13/cobra"
)

func (p Program) version() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  tocsin version\n  tocsin version --json",
		Args:    noArguments,
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return json.NewEncoder(p.Out).Encode(versions{p.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH})
			}
			return p.printf("tocsin %s (%s, %s/%s)\n", p.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "Print it as JSON, for programs")
	return c
}

// versions is the program's version and those of what it was built with.
type versions struct {
	Version string `json:"version"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

func (p Program) config() *cobra.Command {
	c := &cobra.Command{Use: "config", Short: "Look at the configuration"}
	show := &cobra.Command{
		Use:   "show",
		Short: "Print every setting and where its value came from",
		Long: "Print every setting, its value and where that came from: a flag, the environment, the configuration file or the default,\n" +
			"in this order of precedence. Secrets are masked.",
		Example: "  tocsin config show\n" +
			"  TOCSIN_LISTEN=:8080 tocsin config show --config tocsin.yaml",
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			settings, err := p.Settings(c.Flags())
			if err != nil {
				return err
			}
			t := newTable(p.Out, "SETTING", "VALUE", "ORIGIN")
			for _, s := range settings {
				t.row(s.Name, orDash(s.Value), s.Origin)
			}
			return t.flush()
		},
	}
	p.ServerFlags(show.Flags())
	c.AddCommand(show, p.checkConfig())
	return c
}

func (p Program) checkConfig() *cobra.Command {
	c := &cobra.Command{
		Use:   "check FILE",
		Short: "Check a configuration file",
		Long: "Check a configuration file before the server reads it: every mistake is reported, and a certificate that does not fit its key.\n" +
			"Flags and the environment come before the file, as they do for the server.",
		Example: "  tocsin config check tocsin.yaml",
		Args:    oneArgument("FILE"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := c.Flags().Set("config", args[0]); err != nil {
				return err
			}
			if err := p.Check(c.Flags()); err != nil {
				return err
			}
			return p.printf("%s: no mistakes\n", args[0])
		},
	}
	p.ServerFlags(c.Flags())
	return c
}
