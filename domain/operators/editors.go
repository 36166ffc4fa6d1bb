package operators

import (
	"strings"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/users"
)

// ErrHigherRole refuses a change of a member with a higher role than the operator's.
var ErrHigherRole = fault.New(fault.Forbidden, "only administrators can change administrators")

// Editor is an operator who changes members of an organization, with their rights there.
type Editor struct {
	audit.Actor

	Level AccessLevel
}

// OfInstallation reports whether the editor is an operator of the installation: their channels are
// trusted, whatever their destination.
func (o Editor) OfInstallation() bool { return o.Level >= Installation }

// HigherRoleError is ErrHigherRole for some members.
type HigherRoleError struct{ Members []users.Member }

func (e *HigherRoleError) Error() string { return e.Unwrap().Error() }

// Unwrap returns ErrHigherRole, with their names.
func (e *HigherRoleError) Unwrap() error {
	return ErrHigherRole.With("you may not change %s: %s", strings.Join(e.Usernames(), ", "), ErrHigherRole.Error())
}

// Usernames returns the usernames of the members.
func (e *HigherRoleError) Usernames() []string {
	all := make([]string, len(e.Members))
	for i, m := range e.Members {
		all[i] = m.User.Username
	}
	return all
}

// MayChange returns a HigherRoleError when some of the members have a higher role than the editor.
// An editor who could lock, remove or edit those would take rights away that they cannot give. A
// role counts even while its holder is locked: the lock may be lifted.
func (o Editor) MayChange(ms ...users.Member) error {
	var above []users.Member
	for _, m := range ms {
		if rights[m.Role] > o.Level {
			above = append(above, m)
		}
	}
	if len(above) == 0 {
		return nil
	}
	return &HigherRoleError{Members: above}
}
