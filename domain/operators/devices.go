package operators

import (
	"context"
	"time"
)

// DeviceLife is how long a browser is known after somebody last signed in there, MaxDevices how
// many are known of an account.
const (
	DeviceLife = 180 * 24 * time.Hour
	MaxDevices = 20
)

// Device is a browser in which somebody has signed in to an account.
type Device struct {
	Digest  Digest // of its token, which the browser keeps
	Account AccountID
	Seen    time.Time // when somebody last signed in there
}

// Expires is when the device is not known any more.
func (d Device) Expires() time.Time { return d.Seen.Add(DeviceLife) }

// DeviceRepository keeps devices.
type DeviceRepository interface {
	// Device returns the accounts that a device is known of, by id.
	Device(ctx context.Context, d Digest, now time.Time) ([]AccountID, error)
	// Remember stores a device, and forgets the longest unseen of those that an account has beyond
	// MaxDevices.
	Remember(ctx context.Context, d Device) error
	// ForgetDevices forgets all devices of an account but one.
	ForgetDevices(ctx context.Context, a AccountID, keep Digest) error
}
