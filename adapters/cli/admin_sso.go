package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/signon"
)

func (p Program) adminSSO() *cobra.Command {
	c := &cobra.Command{Use: "sso", Short: "Link accounts with identities of the single sign-on provider"}
	c.AddCommand(p.adminSSOLink(), p.adminSSOUnlink(), p.adminSSOShow())
	return c
}

// usernameCommand adds the required flag --username, with the usage text about, to a command.
func usernameCommand(c *cobra.Command, about string, run func(c *cobra.Command, username string) error) *cobra.Command {
	var username string
	c.Args = noArguments
	c.Flags().StringVar(&username, "username", "", about)
	c.RunE = func(c *cobra.Command, _ []string) error {
		if strings.TrimSpace(username) == "" {
			return usagef("--username is missing, see %s --help", c.CommandPath())
		}
		return run(c, strings.TrimSpace(username))
	}
	return c
}

const ssoUsername = "User whose account it is (required)"

func (p Program) adminSSOLink() *cobra.Command {
	var to signon.Subject
	c := usernameCommand(&cobra.Command{
		Use:   "link --username NAME --subject SUBJECT",
		Short: "Link an identity of the provider to a user's account",
		Long: "Link an identity of the provider to the account that the installation created for a user, replacing the identity linked before.\n" +
			"This is needed if the account existed before the first single sign-on, and after a change of the provider. The page that\n" +
			"refuses the user names the subject, and so does the audit log. Make sure that it is really the user. Accounts with a password\n" +
			"set by an organization's link are never linked: others in the organization may know the password.",
		Example: "  tocsin admin sso link --username ada --subject 248289761001",
	}, ssoUsername, func(c *cobra.Command, username string) error {
		if to.ID == "" {
			return usagef("--subject is missing, see %s --help", c.CommandPath())
		}
		return p.withServices(c, func(s Services) error {
			if err := s.SingleSignOn.Link(c.Context(), caller(), username, to); err != nil {
				return err
			}
			return p.printf("%s signs in with single sign-on now\n", username)
		})
	})
	c.Flags().StringVar(&to.ID, "subject", "", "The user's id at the provider, the claim sub (required)")
	c.Flags().StringVar(&to.Issuer, "issuer", "", "The provider; without it that of sso_issuer")
	return c
}

func (p Program) adminSSOUnlink() *cobra.Command {
	return usernameCommand(&cobra.Command{
		Use:   "unlink --username NAME",
		Short: "Unlink a user's account from the provider",
		Long: "Unlink a user's account from the provider, and end the sessions from there. An account without a password is deleted. A user\n" +
			"who is still in a group with a role at the provider gets an account again at the next sign-in.",
		Example: "  tocsin admin sso unlink --username ada",
	}, ssoUsername, func(c *cobra.Command, username string) error {
		return p.withServices(c, func(s Services) error {
			dropped, err := s.SingleSignOn.Unlink(c.Context(), caller(), username)
			if err != nil {
				return err
			}
			what := "the account and its password are left"
			if dropped {
				what = "the account had no password and is removed"
			}
			return p.printf("%s is not linked any more; %s\n", username, what)
		})
	})
}

func (p Program) adminSSOShow() *cobra.Command {
	return usernameCommand(&cobra.Command{
		Use:     "show --username NAME",
		Short:   "Show how a user can sign in to their accounts",
		Example: "  tocsin admin sso show --username ada",
	}, ssoUsername, func(c *cobra.Command, username string) error {
		return p.withServices(c, func(s Services) error {
			all, err := s.SingleSignOn.LinksOf(c.Context(), username)
			if err != nil {
				return err
			}
			t := newTable(p.Out, "OPENS", "PASSWORD", "SUBJECT", "ISSUER", "LINKED", "LAST USED")
			for _, a := range all {
				t.row(accountRow(a)...)
			}
			return t.flush()
		})
	})
}

// accountRow returns the table row of an account.
func accountRow(a app.LinkedAccount) []string {
	var opens []string
	if a.Administrator {
		opens = append(opens, "installation")
	}
	for _, place := range a.Organizations {
		opens = append(opens, fmt.Sprintf("%s (%s)", place.Organization.Slug, place.Role))
	}
	password := "yes"
	if a.Hash == "" {
		password = "no"
	}
	return []string{orDash(strings.Join(opens, ", ")), password, orDash(oneLine(a.Link.ID)), orDash(oneLine(a.Link.Issuer)), formatTime(a.Link.Linked, "-"), formatTime(a.Link.Used, "never")}
}
