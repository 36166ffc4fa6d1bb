package cli

import (
	"github.com/spf13/cobra"

	"github.com/tocsin/tocsin/domain/access"
)

// keyScope selects one of several keys with the same name.
type keyScope struct {
	access.Scope
	installation bool
}

// scopeFlags adds the flags that select a key by its scope.
func scopeFlags(c *cobra.Command) *keyScope {
	var s keyScope
	f := c.Flags()
	f.StringVar(&s.Organization, "org", "", "Organization that the key is limited to (slug)")
	f.StringVar(&s.Project, "project", "", "Project that the key is limited to (slug, needs --org)")
	f.StringVar(&s.Application, "app", "", "Application that the key is limited to (slug, needs --project)")
	f.BoolVar(&s.installation, "installation", false, "The key reaches the whole installation")
	c.MarkFlagsMutuallyExclusive("installation", "org")
	return &s
}

// scope returns the scope that the flags name; nil when they name none.
func (s *keyScope) scope() (*access.Scope, error) {
	if err := s.Check(); err != nil {
		return nil, usagef("%s", err.Error())
	}
	if s.Scope == (access.Scope{}) && !s.installation {
		return nil, nil //nolint:nilnil // No scope is named.
	}
	return &s.Scope, nil
}
