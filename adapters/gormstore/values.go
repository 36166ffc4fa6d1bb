package gormstore

import (
	"fmt"
	"strings"
	"time"
)

// timeLayout is the format in which the SQLite driver stores times. In UTC the texts sort like the
// times. Postgres can parse it too.
const timeLayout = "2006-01-02 15:04:05.999999999-07:00"

// stamp returns a time as both databases store it: in UTC, in whole microseconds.
func stamp(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// timeText returns the text form of a time.
func timeText(t time.Time) string { return stamp(t).Format(timeLayout) }

// nullTime returns a time for an optional column: the zero time as NULL.
func nullTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = stamp(t)
	return &t
}

func timeOf(p *time.Time) time.Time { return orZero(p).UTC() }

// orNull returns an id for an optional column: 0 as NULL.
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

// storable replaces the characters of a text that a database cannot store.
func storable(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\x00", "\ufffd")
}

// unreadable returns the error of an invalid stored value. It drops the kind of err, because the
// caller cannot correct the value.
func unreadable(err error, format string, args ...any) error {
	return fmt.Errorf("stored "+format+": %s", append(args, err.Error())...)
}
