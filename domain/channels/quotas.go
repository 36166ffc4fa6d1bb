package channels

import "time"

// Quota is how many attempts a channel may make in a day and in a month of UTC, on all instances
// together; 0: any number. Every attempt that is handed to the provider counts, whatever its
// result.
type Quota struct {
	PerDay   int
	PerMonth int
}

// None reports whether there is no quota.
func (q Quota) None() bool { return q == Quota{} }

// MaxPortion is the largest part of a quota that an instance takes at once.
const MaxPortion = 512

// Portion returns how much of the quota an instance takes at once. It counts as used from then on,
// so a killed instance may waste this much: a hundredth of the quota at most.
func (q Quota) Portion() int {
	least := q.PerDay
	if least == 0 || q.PerMonth > 0 && q.PerMonth < least {
		least = q.PerMonth
	}
	return min(max(least/100, 1), MaxPortion)
}

// Usage is how much of a quota is used.
type Usage struct {
	At      time.Time // the day and month of the figures
	OfDay   int
	OfMonth int
}

// On returns the usage at a later time: that of a day or a month that is over is gone. So is usage
// of more than two days ahead: the clock was wrong.
func (u Usage) On(now time.Time) Usage {
	if u.At.Sub(now) > 48*time.Hour {
		return Usage{At: now}
	}
	if day(u.At).Before(day(now)) {
		u.OfDay = 0
	}
	if month(u.At).Before(month(now)) {
		u.OfMonth = 0
	}
	if u.At.Before(now) {
		u.At = now
	}
	return u
}

// UsedUp returns until when nothing is left of the quota; zero: not used up.
func (u Usage) UsedUp(of Quota) time.Time {
	switch {
	case of.PerMonth > 0 && u.OfMonth >= of.PerMonth:
		return month(u.At).AddDate(0, 1, 0)
	case of.PerDay > 0 && u.OfDay >= of.PerDay:
		return tomorrow(u.At)
	}
	return time.Time{}
}

// Allowance is a portion of a quota that an instance has taken.
type Allowance struct {
	Left  int       // attempts
	Taken time.Time // the day that they count for
	// Until is the end of that day: the rest is not used afterwards. If nothing was left of the
	// quota, it is when something will be.
	Until time.Time
}

// OfDay reports whether the allowance is of the day of t.
func (a Allowance) OfDay(t time.Time) bool { return day(a.Taken).Equal(day(t)) }

// Allow returns what is left of an allowance, and takes one of up to want attempts. It returns the
// usage afterwards.
func (u Usage) Allow(of Quota, want int, back Allowance, now time.Time) (Usage, Allowance) {
	u = u.On(now)
	if back.OfDay(u.At) {
		u.OfDay = max(0, u.OfDay-back.Left)
	}
	if month(back.Taken).Equal(month(u.At)) {
		u.OfMonth = max(0, u.OfMonth-back.Left)
	}
	a := Allowance{Taken: u.At, Until: tomorrow(u.At)}
	if until := u.UsedUp(of); !until.IsZero() {
		a.Until = until
		return u, a
	}
	n := want
	if of.PerDay > 0 {
		n = min(n, of.PerDay-u.OfDay)
	}
	if of.PerMonth > 0 {
		n = min(n, of.PerMonth-u.OfMonth)
	}
	a.Left = n
	u.OfDay, u.OfMonth = u.OfDay+n, u.OfMonth+n
	return u, a
}

func day(t time.Time) time.Time {
	y, m, d := t.UTC().Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

func tomorrow(t time.Time) time.Time { return day(t).AddDate(0, 0, 1) }

func month(t time.Time) time.Time {
	y, m, _ := t.UTC().Date()
	return time.Date(y, m, 1, 0, 0, 0, 0, time.UTC)
}
