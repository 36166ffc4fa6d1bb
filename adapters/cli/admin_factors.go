package cli

import "github.com/spf13/cobra"

func (p Program) adminResetFactors() *cobra.Command {
	return usernameCommand(&cobra.Command{
		Use:   "reset-factors --username NAME",
		Short: "Remove a user's second factors",
		Long: "Remove the authenticator app, the passkeys and the recovery codes of a user who has lost them, and end their sessions. They\n" +
			"can then sign in with only their password and set up new ones. Make sure that the request really comes from the user.",
		Example: "  tocsin admin reset-factors --username ada",
	}, "User whose second factors to remove (required)", func(c *cobra.Command, username string) error {
		return p.withServices(c, func(s Services) error {
			reset, err := s.Factors.Reset(c.Context(), caller(), username)
			if err != nil {
				return err
			}
			if reset == 0 {
				return p.printf("%s has no second factor\n", username)
			}
			return p.printf("the second factor of %s was removed, and all sessions ended\n", username)
		})
	})
}
