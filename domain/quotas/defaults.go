package quotas

import "sync/atomic"

// Defaults are the limits of organizations without limits of their own. They may be replaced while
// they are in use. A nil or zero Defaults has no limits.
type Defaults struct{ limits atomic.Pointer[Limits] }

// NewDefaults returns these limits.
func NewDefaults(l Limits) *Defaults {
	d := &Defaults{}
	d.Replace(l)
	return d
}

// Replace replaces the limits. The next check uses them.
func (d *Defaults) Replace(l Limits) { d.limits.Store(&l) }

// With returns the limits of an organization, with those that own gives instead of the
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
