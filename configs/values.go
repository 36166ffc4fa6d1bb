package configs

import (
	"errors"
	"log/slog"
	"math"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// The errors of the parsers below say what a value must be. They never contain the value itself.

func boolean(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "true", "1":
		return true, nil
	case "false", "0":
		return false, nil
	}
	return false, errors.New("must be true or false")
}

// year bounds long durations.
const year = 365 * 24 * time.Hour

// The durations of most settings. A lease is long enough to renew a claim several times; a delay
// of 0 means none.
var (
	duration     = durations(time.Millisecond, 24*time.Hour, "must be a duration from 1ms to 24h, for example 30s or 1m30s")
	lease        = durations(5*time.Second, time.Hour, "must be a duration from 5s to 1h, for example 1m")
	delay        = durations(0, time.Hour, "must be a duration from 0s to 1h, for example 10s")
	longDuration = durations(time.Millisecond, year, "must be a duration from 1ms to 8760h, for example 24h")
)

// durations returns a parser of durations from least to most. Its error is the expectation.
func durations(least, most time.Duration, expectation string) func(text string) (time.Duration, error) {
	return func(text string) (time.Duration, error) {
		d, err := time.ParseDuration(text)
		if err != nil || d < least || d > most {
			return 0, errors.New(expectation)
		}
		return d, nil
	}
}

// retention parses how long something is kept; 0 means forever.
func retention(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || (d != 0 && d < 24*time.Hour) || d > 10*year { // An Idempotency-Key holds for 24 hours.
		return 0, errors.New("must be 0 (for ever) or a duration from 24h to 87600h, for example 2160h")
	}
	return d, nil
}

func connections(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 2 || n > 1000 {
		return 0, errors.New("must be a number from 2 to 1000")
	}
	return n, nil
}

func perSecond(text string) (float64, error) {
	f, err := strconv.ParseFloat(text, 64)
	// This comparison is false for NaN.
	if err != nil || !(f >= 0 && f <= 1e6) {
		return 0, errors.New("must be a number from 0 (no limit) to 1000000")
	}
	return math.Abs(f), nil // -0 becomes 0
}

func size(text string) (int64, error) {
	const least, most = 1 << 10, 1 << 30
	n, known := byteCount(text)
	if !known || n > most || n < least {
		return 0, errors.New("must be a size from 1KiB to 1GiB, in bytes or with a unit, for example 1MiB")
	}
	return int64(n), nil
}

// storage parses how much may be stored, in bytes; 0 means no limit.
func storage(text string) (int64, error) {
	const most = 1 << 50
	n, known := byteCount(text)
	if !known || n > most {
		return 0, errors.New("must be 0 (no limit) or a size up to 1024TiB, in bytes or with a unit, for example 10GiB")
	}
	return int64(n), nil
}

// byteCount parses a number of bytes, with or without a unit.
func byteCount(text string) (n uint64, known bool) {
	digits, name := text, ""
	if i := strings.IndexFunc(text, func(r rune) bool { return r < '0' || r > '9' }); i >= 0 {
		digits, name = text[:i], strings.ToLower(strings.TrimSpace(text[i:]))
	}
	unit, known := map[string]uint64{"": 1, "b": 1, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40}[name]
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil || !known || n > math.MaxInt64/unit { // The product may overflow.
		return 0, false
	}
	return n * unit, true
}

// count parses a maximum number; 0 means no limit.
func count(text string) (int64, error) {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return 0, errors.New("must be a whole number from 0 (no limit) to 2147483647")
	}
	return int64(n), nil
}

func hostPort(text string) (string, error) {
	host, port, err := net.SplitHostPort(text)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil || strings.ContainsAny(host, "/@, \t") {
		return "", errors.New("must be host:port, for example 127.0.0.1:8080 or :8080")
	}
	return text, nil
}

// metricsListen parses host:port, or nothing.
func metricsListen(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	return hostPort(text)
}

func baseURL(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "":
		return "", errors.New("must be an http or https URL, for example https://notify.example.org")
	case u.User != nil || strings.ContainsAny(text, "?#,"): // A comma ends a link in a List-Unsubscribe header.
		return "", errors.New("must not carry a user name, a query, a fragment or a comma")
	}
	return strings.TrimRight(u.String(), "/"), nil
}

// list parses a comma-separated list; parse returns false for a part that does not meet the
// expectation.
func list[T any](text, expectation string, parse func(part string) (T, bool)) ([]T, error) {
	if text == "" {
		return nil, nil
	}
	var all []T
	for part := range strings.SplitSeq(text, ",") {
		parsed, valid := parse(strings.TrimSpace(part))
		if !valid {
			return nil, errors.New(expectation)
		}
		all = append(all, parsed)
	}
	return all, nil
}

// contacts parses the contacts for reports of vulnerabilities, as RFC 9116 requires: URIs, and
// https instead of http.
func contacts(text string) ([]string, error) {
	return list(text, "must be mailto:, https: or tel: URLs, for example mailto:security@example.org", func(part string) (string, bool) {
		u, err := url.Parse(part)
		if err != nil {
			return "", false
		}
		page := u.Scheme == "https" && u.Hostname() != "" && u.User == nil
		return u.String(), page || (u.Scheme == "mailto" || u.Scheme == "tel") && u.Opaque != ""
	})
}

// An origin as browsers send it; they omit the default ports.
var (
	origin     = regexp.MustCompile(`^https?://([a-z0-9][a-z0-9.-]*|\[[0-9a-f:]+])(:\d{1,5})?$`)
	usualPorts = regexp.MustCompile(`^(https:.*:443|http:.*:80)$`)
)

func origins(text string) ([]string, error) {
	const expectation = "must be origins as browsers send them: a scheme and a host in lower case, a port if it is not the usual one, and nothing more, for example https://app.example.org"
	return list(text, expectation, func(part string) (string, bool) {
		return part, origin.MatchString(part) && !usualPorts.MatchString(part)
	})
}

func policyURL(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
		return "", errors.New("must be an https URL, for example https://example.org/security")
	}
	return u.String(), nil
}

// Destinations are hosts and networks that may be connected to.
type Destinations struct {
	Networks []netip.Prefix
	Hosts    []string // in lower case, without a dot at the end
}

// hostForm matches a host name. Its last part is not a number, or it would be an address.
var (
	hostForm   = regexp.MustCompile(`^[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*$`)
	endsInName = regexp.MustCompile(`[a-z_-][^.]*$`)
)

func destinations(text string) (Destinations, error) {
	var d Destinations
	if text == "" {
		return d, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSuffix(strings.ToLower(strings.TrimSpace(part)), ".")
		if p, known := network(part); known {
			d.Networks = append(d.Networks, p)
			continue
		}
		if len(part) > 253 || !hostForm.MatchString(part) || !endsInName.MatchString(part) {
			return Destinations{}, errors.New("must be host names, addresses or networks, for example mail.example.org, 10.0.0.0/8")
		}
		d.Hosts = append(d.Hosts, part)
	}
	return d, nil
}

func networks(text string) ([]netip.Prefix, error) {
	return list(text, "must be networks or addresses, for example 10.0.0.0/8, 192.0.2.7", network)
}

// network parses a network, or an address as a network of its own; false when it is neither.
func network(text string) (netip.Prefix, bool) {
	if p, err := netip.ParsePrefix(text); err == nil {
		return p.Masked(), true
	}
	a, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Prefix{}, false
	}
	return netip.PrefixFrom(a, a.BitLen()), true
}

func logLevel(text string) (slog.Level, error) {
	switch strings.ToLower(text) {
	case "debug":
		return slog.LevelDebug, nil
	case "info":
		return slog.LevelInfo, nil
	case "warn":
		return slog.LevelWarn, nil
	case "error":
		return slog.LevelError, nil
	}
	return 0, errors.New("must be debug, info, warn or error")
}

func logFormat(text string) (LogFormat, error) {
	switch f := LogFormat(strings.ToLower(text)); f {
	case LogAuto, LogText, LogJSON:
		return f, nil
	}
	return "", errors.New("must be auto, text or json")
}
