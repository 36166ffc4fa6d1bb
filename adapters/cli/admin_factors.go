package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

func (p Program) adminResetFactors() *cobra.Command {
	var username string
	c := &cobra.Command{
		Use:   "reset-factors --username NAME",
		Short: "Remove a user's second factors",
		Long: "Remove the authenticator app, the passkeys and the recovery codes of a user who has lost them, and end their sessions. They\n" +
			"can then sign in with only their password and set up new ones. Make sure that the request really comes from the user.",
		Example: "  tocsin admin reset-factors --username ada",
		Args:    noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			username = strings.TrimSpace(username)
			if username == "" {
				return usagef("--username is missing, see %s --help", c.CommandPath())
			}
			return p.withServices(c, func(s Services) error {
				reset, err := s.Factors.Reset(c.Context(), caller(), username)
				if err != nil {
					return err
				}
				if reset == 0 {
					_, err = fmt.Fprintf(p.Out, "%s has no second factor\n", username)
					return err
				}
				_, err = fmt.Fprintf(p.Out, "the second factor of %s was removed, and all sessions ended\n", username)
				return err
			})
		},
	}
	c.Flags().StringVar(&username, "username", "", "User whose second factors to remove (required)")
	return c
}
