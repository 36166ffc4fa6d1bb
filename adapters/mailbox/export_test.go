package mailbox

import "github.com/tocsin/tocsin/ports"

// NewSmall returns a driver that keeps fewer bytes of an organization than MaxBytes.
func NewSmall(store ports.Store, maxBytes int64) *Driver {
	return &Driver{store: store, maxBytes: maxBytes}
}
