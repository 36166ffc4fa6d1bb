package quotas

import "sync/atomic"

// Defaults are the limits of organizations that have none of their own. They may be replaced while
// they are in use. The zero value has no limit, and nil is it.
type Defaults struct{ limits atomic.Pointer[Limits] }

// NewDefaults returns these limits.
func NewDefaults(l Limits) *Defaults {
	d := &Defaults{}
	d.Replace(l)
	return d
}

// Replace puts other limits in the place of those before. They count from the next question on.
func (d *Defaults) Replace(l Limits) { d.limits.Store(&l) }

// With returns the limits of an organization, with those that own gives in the place of the
// defaults.
func (d *Defaults) With(own Limits) Limits {
	if d == nil {
		return own
	}
	if l := d.limits.Load(); l != nil {
		return l.With(own)
	}
	return own
}
