package operators

import (
	"strings"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/users"
)

// ErrAbove refuses a change of somebody who may do more than whoever wants to change it.
var ErrAbove = fault.New(fault.Forbidden, "only administrators can change administrators")

// Officer is somebody who looks after the members of an organization, with what they may do there.
type Officer struct {
	audit.Actor

	Right Need
}

// OfInstallation reports whether the officer looks after the installation: what such a person says
// of a channel is trusted, wherever it leads.
func (o Officer) OfInstallation() bool { return o.Right >= Installation }

// MayChange answers ErrAbove, naming them, when some of the members stand above the officer. Who
// could lock, remove or edit those would take rights away that they could not give. A role counts
// even while its holder is locked: the lock may be lifted.
func (o Officer) MayChange(ms ...users.Member) error {
	var above []string
	for _, m := range ms {
		if rights[m.Role] > o.Right {
			above = append(above, m.User.Username)
		}
	}
	if len(above) == 0 {
		return nil
	}
	return ErrAbove.With("you may not change %s: %s", strings.Join(above, ", "), ErrAbove.Error())
}
