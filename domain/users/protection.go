package users

import "github.com/tocsin/tocsin/domain/fault"

// ErrProtected refuses API keys the people who look after the organization.
var ErrProtected = fault.New(fault.Forbidden, "the user has a console role in this organization; only the console and the command line may change or remove them")

// OpenToKeys reports, as an error, that API keys may neither change nor remove the member: whoever
// has a console role. An address that a key adds would lead their mail elsewhere, and a removal
// would lock them out. ErrProtected.
func (m Member) OpenToKeys() error {
	if m.Role == RoleMember {
		return nil
	}
	return ErrProtected
}
