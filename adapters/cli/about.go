package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
)

func (p Program) version() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  tocsin version",
		Args:    noArguments,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(p.Out, "tocsin %s (%s, %s/%s)\n", p.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
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
	c.AddCommand(show)
	return c
}
