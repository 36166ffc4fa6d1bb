package gormstore

import (
	"fmt"
	"strings"
	"time"
)

// momentLayout is how the driver of SQLite writes moments: in UTC, their texts sort as they do.
// Postgres reads it, too.
const momentLayout = "2006-01-02 15:04:05.999999999-07:00"

// stamp is a time as both databases keep it: in UTC and whole microseconds.
func stamp(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// momentText is how a time is spelled where it comes as a text.
func momentText(t time.Time) string { return stamp(t).Format(momentLayout) }

// moment is how a time that may be missing is stored: the zero time as NULL.
func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = stamp(t)
	return &t
}

func momentOf(p *time.Time) time.Time { return orZero(p).UTC() }

// orNull is how an id that may be missing is stored.
func orNull[T ~int64](id T) *T {
	if id == 0 {
		return nil
	}
	return &id
}

func orZero[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// storable makes a text of any origin one that every database keeps.
func storable(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\x00", "\ufffd")
}

// unreadable reports a stored value that cannot be what we stored. Nobody who asks for it can help
// that, so whatever kind err has is left behind.
func unreadable(err error, format string, args ...any) error {
	return fmt.Errorf("stored "+format+": %s", append(args, err.Error())...)
}
