package users

import "github.com/tocsin/tocsin/domain/fault"

// ErrProtected refuses API keys a change of members with a console role.
var ErrProtected = fault.New(fault.Forbidden, "the user has a console role in this organization; only the console and the command line may change or remove them")

// CheckKeyAccess returns ErrProtected for a member whom API keys may neither change nor remove: one
// with a console role. An address that a key adds would redirect their mail, and a removal would
// lock them out.
func (m Member) CheckKeyAccess() error {
	if m.Role == RoleMember {
		return nil
	}
	return ErrProtected
}
