package channels

import (
	"encoding/json"
	"strconv"

	"github.com/tocsin/tocsin/domain/fault"
)

// The settings that every driver accepts.
const (
	SettingConcurrency   = "concurrency"     // attempts at once, 1 to MaxConcurrency
	SettingRatePerSecond = "rate_per_second" // messages per second
	SettingQuotaPerDay   = "quota_per_day"   // attempts in a day of UTC; 0: no quota
	SettingQuotaPerMonth = "quota_per_month" // attempts in a month of UTC; 0: no quota
)

// Limits of the limits.
const (
	DefaultConcurrency = 16
	MaxConcurrency     = 256
	MaxRatePerSecond   = 100_000
	MaxQuota           = 1_000_000_000
)

// Limits is how much a channel may do at a time.
type Limits struct {
	Concurrency int     // on each instance
	PerSecond   float64 // on all of them together; 0: no limit
	Quota       Quota   // on all of them together
}

// Limits reads the settings that every driver accepts; what is missing or wrong has its default.
func (s Settings) Limits() Limits {
	l := Limits{Concurrency: DefaultConcurrency}
	if n, ok := number(s[SettingConcurrency]); ok && n >= 1 && n <= MaxConcurrency && n == float64(int(n)) {
		l.Concurrency = int(n)
	}
	if n, ok := number(s[SettingRatePerSecond]); ok && n > 0 && n <= MaxRatePerSecond {
		l.PerSecond = n
	}
	l.Quota = Quota{PerDay: s.quota(SettingQuotaPerDay), PerMonth: s.quota(SettingQuotaPerMonth)}
	return l
}

// quota reads a quota; 0 where it is missing or wrong.
func (s Settings) quota(name string) int {
	if n, ok := number(s[name]); ok && n >= 0 && n <= MaxQuota && n == float64(int(n)) {
		return int(n)
	}
	return 0
}

// CheckLimits reports what is wrong with the settings that every driver accepts.
func (s Settings) CheckLimits() error {
	var faults fault.Fields
	if v, given := s[SettingConcurrency]; given {
		if n, ok := number(v); !ok || n < 1 || n > MaxConcurrency || n != float64(int(n)) {
			faults.Addf("settings."+SettingConcurrency, "must be a whole number from 1 to %d", MaxConcurrency)
		}
	}
	if v, given := s[SettingRatePerSecond]; given {
		if n, ok := number(v); !ok || !(n > 0) || n > MaxRatePerSecond { // NaN, too, is not above 0.
			faults.Addf("settings."+SettingRatePerSecond, "must be a number above 0 and at most %d", MaxRatePerSecond)
		}
	}
	for _, name := range []string{SettingQuotaPerDay, SettingQuotaPerMonth} {
		if v, given := s[name]; given {
			if n, ok := number(v); !ok || !(n >= 0 && n <= MaxQuota) || n != float64(int(n)) {
				faults.Addf("settings."+name, "must be a whole number from 0 to %d", MaxQuota)
			}
		}
	}
	return faults.Err()
}

// number reads a number as YAML and JSON decoders leave it, or a variable of the environment: as a
// string.
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
