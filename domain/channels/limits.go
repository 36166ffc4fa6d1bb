package channels

import (
	"encoding/json"
	"maps"
	"strconv"

	"github.com/tocsin/tocsin/domain/fault"
)

// The settings that every driver accepts.
const (
	SettingConcurrency   = "concurrency"     // concurrent attempts, 1 to MaxConcurrency
	SettingRatePerSecond = "rate_per_second" // messages per second
	SettingQuotaPerDay   = "quota_per_day"   // attempts in a day of UTC; 0: no quota
	SettingQuotaPerMonth = "quota_per_month" // attempts in a month of UTC; 0: no quota
)

// The bounds of the limits.
const (
	DefaultConcurrency = 16
	MaxConcurrency     = 256
	MinRatePerSecond   = 1.0 / 86_400 // one message a day
	MaxRatePerSecond   = 100_000
	MaxQuota           = 1_000_000_000
)

// Limits are a channel's limits on attempts and messages.
type Limits struct {
	Concurrency int     // concurrent attempts
	Shared      bool    // on all instances together, because it was set; else on each
	PerSecond   float64 // on all instances together; 0: no limit
	Quota       Quota   // on all instances together
}

// Limits returns the settings that every driver accepts; a missing or wrong one has its default.
func (s Settings) Limits() Limits {
	l := Limits{Concurrency: DefaultConcurrency}
	if n, ok := whole(s[SettingConcurrency], 1, MaxConcurrency); ok {
		l.Concurrency, l.Shared = n, true
	}
	if n, ok := number(s[SettingRatePerSecond]); ok && n > 0 && n <= MaxRatePerSecond {
		l.PerSecond = max(n, MinRatePerSecond)
	}
	l.Quota.PerDay, _ = whole(s[SettingQuotaPerDay], 0, MaxQuota)
	l.Quota.PerMonth, _ = whole(s[SettingQuotaPerMonth], 0, MaxQuota)
	return l
}

// withoutLimits returns the settings of the driver only.
func (s Settings) withoutLimits() Settings {
	rest := maps.Clone(s)
	for _, limit := range CommonSettings() {
		delete(rest, limit.Name)
	}
	return rest
}

// CheckLimits reports faults in the settings that every driver accepts.
func (s Settings) CheckLimits() error {
	var faults fault.Fields
	if v, given := s[SettingConcurrency]; given {
		if _, ok := whole(v, 1, MaxConcurrency); !ok {
			faults.Addf("settings."+SettingConcurrency, "must be a whole number from 1 to %d", MaxConcurrency)
		}
	}
	if v, given := s[SettingRatePerSecond]; given {
		switch n, ok := number(v); {
		case !ok || !(n > 0) || n > MaxRatePerSecond: // NaN, too, is not above 0.
			faults.Addf("settings."+SettingRatePerSecond, "must be a number above 0 and at most %d", MaxRatePerSecond)
		case n < MinRatePerSecond:
			faults.Addf("settings."+SettingRatePerSecond, "must be at least 0.0000116, one message a day")
		}
	}
	for _, name := range []string{SettingQuotaPerDay, SettingQuotaPerMonth} {
		if v, given := s[name]; given {
			if _, ok := whole(v, 0, MaxQuota); !ok {
				faults.Addf("settings."+name, "must be a whole number from 0 to %d", MaxQuota)
			}
		}
	}
	return faults.Err()
}

// whole returns a whole number from least to most; 0 and false if it is none.
func whole(v any, least, most int) (int, bool) {
	n, ok := number(v)
	if !ok || !(n >= float64(least) && n <= float64(most)) || n != float64(int(n)) { // NaN is not within.
		return 0, false
	}
	return int(n), true
}

// number returns a number as YAML and JSON decoders return it, or from a variable of the
// environment, as a string.
func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int:
		return float64(v), true
	case int64:
		return float64(v), true
	case float64:
		return v, true
	case json.Number:
		return number(v.String())
	case string:
		n, err := strconv.ParseFloat(v, 64)
		return n, err == nil
	}
	return 0, false
}
