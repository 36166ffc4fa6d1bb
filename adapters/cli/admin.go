package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/users"
)

func (p Program) admin() *cobra.Command {
	c := &cobra.Command{Use: "admin", Short: "Manage the users of the console and their rights"}
	c.AddCommand(p.adminCreate(), p.adminRemove(), p.adminPassword(), p.adminRole(), p.adminResetFactors(), p.adminSSO())
	return c
}

func (p Program) adminCreate() *cobra.Command {
	var username string
	var stdin bool
	c := &cobra.Command{
		Use:   "create --username NAME",
		Short: "Create an administrator of the installation",
		Long: "Create an administrator of the installation, who may do everything in the console. The user is created, or exists already. An\n" +
			"account that the installation made for this username gets the new password, and its sessions and second\n" +
			"factors end. On a terminal the password is prompted for twice; --password-stdin reads it from the first line of standard input.",
		Example: "  tocsin admin create --username ada\n" +
			"  openssl rand -base64 18 | tee password | tocsin admin create --username ada --password-stdin",
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			// Check first what needs no database and no password.
			if _, err := users.NewUser(username); err != nil {
				return usagef("%s", err.Error())
			}
			password, err := p.readPassword(stdin)
			if err != nil {
				return err
			}
			return p.withDatabase(c, true, func(s Services) error {
				err := s.Administration.Create(c.Context(), caller(), username, password)
				if errors.Is(err, operators.ErrExists) {
					return fmt.Errorf("%w: tocsin admin password sets another password", err)
				}
				if err != nil {
					return err
				}
				return p.printf("%s is an administrator of the installation now\n", strings.TrimSpace(username))
			})
		},
	}
	f := c.Flags()
	f.StringVar(&username, "username", "", "Name to sign in with (required)")
	passwordFlag(c, &stdin)
	return c
}

func (p Program) adminPassword() *cobra.Command {
	var org string
	var stdin bool
	c := usernameCommand(&cobra.Command{
		Use:   "password --username NAME",
		Short: "Set a user's password and end their sessions",
		Long: "Set the password of a user who can sign in, and end all of their sessions. With --org it is the password for this organization,\n" +
			"possibly the member's first one, and it also accepts the role there (tocsin admin role).",
		Example: "  tocsin admin password --username ada\n" +
			"  tocsin admin password --username grace --org acme --password-stdin <password",
	}, "User whose password to set (required)", func(c *cobra.Command, username string) error {
		password, err := p.readPassword(stdin)
		if err != nil {
			return err
		}
		return p.withServices(c, func(s Services) error {
			err := s.Administration.SetPassword(c.Context(), caller(), app.Path{Organization: org}, username, password)
			if errors.Is(err, operators.ErrNoPassword) {
				return fmt.Errorf("%w: tocsin admin create adds an account with a password", err)
			}
			if err != nil {
				return err
			}
			return p.printf("the password of %s was changed, and all sessions ended\n", username)
		})
	})
	c.Flags().StringVar(&org, "org", "", "Organization (slug) that the password is for")
	passwordFlag(c, &stdin)
	return c
}

func (p Program) adminRole() *cobra.Command {
	var username, org, role string
	c := &cobra.Command{
		Use:   "role --username NAME --org SLUG --role ROLE",
		Short: "Set a member's role in the console of an organization",
		Long: "Set a member's role in the console of an organization: administrator (everything), operator (manage members and deliveries),\n" +
			"viewer (read), member (nothing). The role takes effect at once for users who have accepted a role of the organization before,\n" +
			"or whose password was set by the installation. Others may have a password that another organization knows: for them it takes\n" +
			"effect when they accept it with an invitation link of the organization, or get a password from tocsin admin password --org.",
		Example: "  tocsin admin role --username grace --org acme --role operator",
		Args:    noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			parsed, err := users.ParseRole("role", role)
			if err != nil {
				return usagef("%s", err.Error())
			}
			if org == "" || strings.TrimSpace(username) == "" {
				return usagef("--username and --org are required, see %s --help", c.CommandPath())
			}
			return p.withServices(c, func(s Services) error {
				name := strings.TrimSpace(username)
				counts, err := s.Administration.SetRole(c.Context(), caller(), app.Path{Organization: org}, name, parsed)
				if err != nil {
					return err
				}
				if _, err = fmt.Fprintf(p.Out, "%s is %s of %s now\n", name, parsed, org); err != nil || counts || parsed == users.RoleMember {
					return err
				}
				return p.printf("The role counts once it is accepted: create an invitation link in the console, or set a password for it with\n"+
					"tocsin admin password --username %s --org %s\n", name, org)
			})
		},
	}
	f := c.Flags()
	f.StringVar(&username, "username", "", "Username of a member (required)")
	f.StringVar(&org, "org", "", "Organization (slug, required)")
	f.StringVar(&role, "role", "", "administrator, operator, viewer or member (required)")
	return c
}

func passwordFlag(c *cobra.Command, stdin *bool) {
	c.Flags().BoolVar(stdin, "password-stdin", false, "Read the password from the first line of standard input")
}

// caller returns the operating system user and the host name as the actor.
func caller() audit.Actor {
	a := audit.Actor{Via: audit.CommandLine}
	if u, err := user.Current(); err == nil {
		a.Name = u.Username
	}
	if host, err := os.Hostname(); err == nil {
		a.Address = host
	}
	return a
}

// readPassword reads a password from standard input, or prompts for it on a terminal.
func (p Program) readPassword(stdin bool) (operators.Password, error) {
	if stdin {
		line, err := bufio.NewReader(io.LimitReader(p.In, 16<<10)).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return operators.Password{}, err
		}
		return operators.NewPassword("password", strings.TrimRight(line, "\r\n"))
	}
	terminal, ok := p.In.(*os.File)
	if !ok || !term.IsTerminal(int(terminal.Fd())) {
		return operators.Password{}, usagef("there is no terminal to ask for the password: pipe it in and add --password-stdin")
	}
	first, err := p.prompt(terminal, "Password: ")
	if err != nil {
		return operators.Password{}, err
	}
	chosen, err := operators.NewPassword("password", first)
	if err != nil {
		return operators.Password{}, err
	}
	again, err := p.prompt(terminal, "Once more: ")
	if err != nil {
		return operators.Password{}, err
	}
	if again != first {
		return operators.Password{}, errors.New("the two passwords differ")
	}
	return chosen, nil
}

// prompt prompts for a line without echoing it.
func (p Program) prompt(terminal *os.File, prompt string) (string, error) {
	_, _ = fmt.Fprint(p.Err, prompt)
	text, err := term.ReadPassword(int(terminal.Fd()))
	_, _ = fmt.Fprintln(p.Err)
	return string(text), err
}
