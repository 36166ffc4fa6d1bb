package cli

import "github.com/spf13/cobra"

func (p Program) adminRemove() *cobra.Command {
	return usernameCommand(&cobra.Command{
		Use:   "remove --username NAME",
		Short: "Take the right of an administrator of the installation from a user",
		Long: "Take the right of an administrator of the installation from a user, and end their sessions. The account, its password and its\n" +
			"roles in organizations stay. If a rule of sso_roles gives the right, take the user out of the group first: the next single\n" +
			"sign-on gives it again. The last administrator can be removed, too: tocsin admin create gives the right back, or to another user.\n" +
			"Without the right, the user of sso_break_glass cannot sign in under require_sso: set the new administrator's username there.",
		Example: "  tocsin admin remove --username ada",
	}, "Administrator of the installation (required)", func(c *cobra.Command, username string) error {
		return p.withServices(c, func(s Services) error {
			if err := s.Administration.RemoveAdministrator(c.Context(), caller(), username); err != nil {
				return err
			}
			return p.printf("%s is no administrator of the installation any more, and the sessions of that account ended\n", username)
		})
	})
}
