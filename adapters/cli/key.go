package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/access"
)

func (p Program) key() *cobra.Command {
	c := &cobra.Command{Use: "key", Short: "Issue, list, rotate and revoke API keys"}
	c.AddCommand(p.keyCreate(), p.keyList(), p.keyRotate(), p.keyRevoke())
	return c
}

func (p Program) keyCreate() *cobra.Command {
	var name string
	var scope access.Scope
	var grants []string
	var life lifetime
	var notUrgent bool
	c := &cobra.Command{
		Use:   "create --name NAME --grant GRANT",
		Short: "Issue an API key and print it",
		Long: "Issue an API key. The key, and nothing else, is printed on standard output; it is shown only once and is not stored.\n\n" +
			"The key reaches the whole installation, or what --org, --project and --app narrow it to. Grants:\n  " +
			strings.Join(grantNames(), "\n  "),
		Example: "  tocsin key create --name sync --org acme --grant user:read --grant user:write\n" +
			"  tocsin key create --name shop --org acme --project shop --app web --grant manage_application_users --expires 90d\n" +
			"  TOKEN=$(tocsin key create --name ci --grant full_access --expires 1h)",
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			// Check first what needs no database.
			if _, err := access.NewKey(name, scope, grants, time.Now(), time.Duration(life)); err != nil {
				return usagef("%s", err.Error())
			}
			mayCreate := scope.Organization == "" // An absent database has no organization.
			return p.withDatabase(c, mayCreate, func(s Services) error {
				k, text, err := s.Keys.Create(c.Context(), caller(), name, scope, grants, time.Duration(life), access.AtMostNormal(notUrgent))
				if err != nil {
					return err
				}
				if _, err := fmt.Fprintln(p.Out, text); err != nil {
					return fmt.Errorf("the key %q exists now but could not be printed, revoke it: %w", k.Name, err)
				}
				_, _ = fmt.Fprintf(p.Err, "created key %q: reaches %s, may %s, expires %s\n",
					k.Name, k.Scope, strings.Join(grantStrings(k.Grants), ", "), formatTime(k.Expires, "never"))
				return nil
			})
		},
	}
	f := c.Flags()
	f.StringVar(&name, "name", "", "Name of the key, unique among those of its scope that are not revoked (required)")
	f.StringVar(&scope.Organization, "org", "", "Organization that the key is limited to (slug)")
	f.StringVar(&scope.Project, "project", "", "Project that the key is limited to (slug, needs --org)")
	f.StringVar(&scope.Application, "app", "", "Application that the key is limited to (slug, needs --project)")
	f.StringSliceVar(&grants, "grant", nil, "What the key may do; repeat it, or separate several by commas (required)")
	f.BoolVar(&notUrgent, "at-most-normal", false, "Whether the key may not trigger what is urgent")
	f.Var(&life, "expires", "How long the key is valid, such as 12h or 90d; for ever when omitted")
	_ = c.RegisterFlagCompletionFunc("grant", cobra.FixedCompletions(grantNames(), cobra.ShellCompDirectiveNoFileComp)) // The flag exists.
	return c
}

func grantNames() []string { return grantStrings(access.Grants()) }

func grantStrings(grants []access.Grant) []string {
	all := make([]string, len(grants))
	for i, g := range grants {
		all[i] = string(g)
	}
	return all
}

// lifetime is a flag value for a duration, also in days. 0 means no limit and cannot be set.
type lifetime time.Duration

var _ pflag.Value = (*lifetime)(nil)

func (l *lifetime) String() string {
	if *l == 0 {
		return ""
	}
	return time.Duration(*l).String()
}

func (l *lifetime) Type() string { return "duration" }

func (l *lifetime) Set(text string) error {
	d, err := time.ParseDuration(text)
	if days, found := strings.CutSuffix(text, "d"); found {
		var n uint64
		n, err = strconv.ParseUint(days, 10, 16)
		d = time.Duration(n) * 24 * time.Hour
	}
	if err != nil || d <= 0 {
		return errors.New("must be a time such as 45m, 12h or 90d")
	}
	*l = lifetime(d)
	return nil
}

// keyPageSize is how many keys are fetched at a time.
const keyPageSize = 1_000

func (p Program) keyList() *cobra.Command {
	var output *format
	c := &cobra.Command{
		Use:     "list",
		Short:   "Print all API keys, without their secrets",
		Long:    "Print all API keys, including revoked and expired ones. The keys themselves are not stored.",
		Example: "  tocsin key list\n  tocsin key list -o json",
		Args:    noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return p.withServices(c, func(s Services) error {
				var all []app.KeyReport
				for after := int64(0); ; {
					page, err := s.Keys.List(c.Context(), app.Path{}, app.Page{After: after, Limit: keyPageSize})
					if err != nil {
						return err
					}
					all = append(all, page...)
					if len(page) < keyPageSize {
						break
					}
					after = int64(page[len(page)-1].ID)
				}
				return p.printKeys(all, output.value)
			})
		},
	}
	output = outputFlag(c.Flags(), "table", formatJSON)
	return c
}

// keyJSON is a key in the output of -o json.
type keyJSON struct {
	ID       int64      `json:"id"`
	Name     string     `json:"name"`
	Scope    string     `json:"scope"`
	Grants   []string   `json:"grants"`
	Created  *time.Time `json:"created"`
	Expires  *time.Time `json:"expires"`
	Replaced *time.Time `json:"replaced"`
	Revoked  *time.Time `json:"revoked"`
	LastUsed *time.Time `json:"last_used"`
	// AtMostNormal says that the key cannot trigger urgent events.
	AtMostNormal bool `json:"at_most_normal"`
}

func (p Program) printKeys(all []app.KeyReport, output string) error {
	if output == formatJSON {
		list := make([]keyJSON, len(all))
		for i, k := range all {
			list[i] = keyJSON{ID: int64(k.ID), Name: k.Name, Scope: k.Scope.String(), Grants: grantStrings(k.Grants),
				Created: timeOrNil(k.Created), Expires: timeOrNil(k.Expires), Replaced: timeOrNil(k.Replaced), Revoked: timeOrNil(k.Revoked), LastUsed: timeOrNil(k.LastUsed),
				AtMostNormal: k.AtMostNormal}
		}
		return printJSON(p.Out, list)
	}
	t := newTable(p.Out, "NAME", "SCOPE", "GRANTS", "CREATED", "EXPIRES", "LAST USED", "REVOKED")
	for _, k := range all {
		t.row(k.Name, k.Scope.String(), strings.Join(grantStrings(k.Grants), ","), formatTime(k.Created, "-"), formatTime(k.Expires, "never"),
			formatTime(k.LastUsed, "never"), formatTime(k.Revoked, "-"))
	}
	return t.flush()
}

func timeOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

func (p Program) keyRevoke() *cobra.Command {
	c := &cobra.Command{
		Use:   "revoke NAME",
		Short: "Revoke an API key",
		Long: "Revoke an API key, and the keys that it has replaced. Running servers stop accepting them within five seconds. The name is\n" +
			"free again; the keys stay in the list. If keys of several scopes have the name, the flags select one.",
		Example:           "  tocsin key revoke sync\n  tocsin key revoke sync --org acme",
		Args:              oneArgument("NAME"),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	scope := scopeFlags(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		in, err := scope.scope()
		if err != nil {
			return err
		}
		return p.withServices(c, func(s Services) error {
			k, err := s.Keys.Revoke(c.Context(), caller(), args[0], in)
			if err != nil {
				return err
			}
			return p.printf("revoked key %q of %s\n", k.Name, k.Scope)
		})
	}
	return c
}
