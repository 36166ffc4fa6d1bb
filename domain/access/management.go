package access

import (
	"strings"
	"time"

	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/names"
)

// ErrWider refuses a key that manages keys with more rights than its own.
var ErrWider = fault.New(fault.Forbidden, "the API key may not manage keys that may do more than itself")

// Until makes a new key end at a time; zero: never.
func Until(end time.Time) Limit { return func(k *Key) { k.Expires = end } }

// Exceeding returns in which rights other exceeds k: `scope`, `grants`, `at_most_normal` and
// `expires`.
func (k Key) Exceeding(other Key) (all []string) {
	if other.Scope == (Scope{}) && k.Scope != (Scope{}) || !k.Scope.Covers(other.Scope) {
		all = append(all, "scope")
	}
	for _, g := range other.Grants {
		if !k.Granted(g) {
			all = append(all, "grants")
			break
		}
	}
	if k.AtMostNormal && !other.AtMostNormal {
		all = append(all, "at_most_normal")
	}
	if !k.Expires.IsZero() && (other.Expires.IsZero() || other.Expires.After(k.Expires)) {
		all = append(all, "expires")
	}
	return all
}

// MayManage reports whether a key may issue or change another one: ErrWider if other has rights
// beyond k, naming all of them. It also requires the grant to manage keys: ErrNotGranted.
func (k Key) MayManage(other Key) error {
	if !k.Granted(KeyWrite) {
		return ErrNotGranted.With("the API key lacks the permission %s", KeyWrite)
	}
	if beyond := k.Exceeding(other); len(beyond) > 0 {
		return ErrWider.With("%s: look at %s", ErrWider.Error(), strings.Join(beyond, ", ")).On(beyond[0])
	}
	return nil
}

// Bounded returns the key with its end brought forward to a time, if it would end later; zero: it
// stays.
func (k Key) Bounded(end time.Time) Key {
	if !end.IsZero() && (k.Expires.IsZero() || k.Expires.After(end)) {
		k.Expires = end
	}
	return k
}

// Change is a change of a key; nil fields stay unchanged. The scope never changes.
type Change struct {
	Name         *string
	Grants       *[]string
	Expires      *time.Time // zero: never
	AtMostNormal *bool
}

// Changed returns the changed key. ErrEnded, ErrReplaced.
func (k Key) Changed(c Change, now time.Time) (Key, error) {
	switch {
	case !k.Valid(now):
		return Key{}, ErrEnded
	case !k.Replaced.IsZero():
		return Key{}, ErrReplaced
	}
	var faults fault.Fields
	var err error
	if c.Name != nil {
		k.Name, err = names.Label("name", *c.Name)
		faults.Add("name", err)
	}
	if c.Grants != nil {
		k.Grants, err = ParseGrants("grants", *c.Grants)
		faults.Add("grants", err)
	}
	if c.AtMostNormal != nil {
		k.AtMostNormal = *c.AtMostNormal
	}
	if c.Expires != nil {
		k.Expires = *c.Expires
		if !k.Valid(now) {
			faults.Addf("expires", "must lie in the future")
		}
	}
	return k, faults.Err()
}
