package operators

import (
	"context"
	"time"
)

// DeviceLife is how long a browser is known after its last sign-in, MaxDevices how many are known
// for an account.
const (
	DeviceLife = 180 * 24 * time.Hour
	MaxDevices = 20
)

// Device is a browser in which a user has signed in to an account.
type Device struct {
	Digest  Digest // of its token, which the browser keeps
	Account AccountID
	Seen    time.Time // the last sign-in
}

// Expires returns when the device is forgotten.
func (d Device) Expires() time.Time { return d.Seen.Add(DeviceLife) }

// DeviceRepository keeps devices.
type DeviceRepository interface {
	// Device returns the accounts for which a device is known, by id.
	Device(ctx context.Context, d Digest, now time.Time) ([]AccountID, error)
	// Remember stores a device, and forgets the least recently seen ones that an account has beyond
	// MaxDevices.
	Remember(ctx context.Context, d Device) error
	// ForgetDevices forgets all devices of an account but one.
	ForgetDevices(ctx context.Context, a AccountID, keep Digest) error
}
