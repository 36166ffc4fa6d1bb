package events

import (
	"github.com/tocsin/tocsin/domain/fault"
)

// Priority is the class that the messages of an occurrence wait in. The lower number goes first;
// the zero value is Normal. The numbers are stored: none ever changes.
type Priority int8

// The priorities.
const (
	Urgent Priority = -1
	Normal Priority = 0
	Bulk   Priority = 1
)

// Priorities returns every priority, the one that goes first at the beginning.
func Priorities() []Priority { return []Priority{Urgent, Normal, Bulk} }

// String is the priority's name, as it is sent and shown.
func (p Priority) String() string {
	switch p {
	case Urgent:
		return "urgent"
	case Normal:
		return "normal"
	case Bulk:
		return "bulk"
	}
	return ""
}

// ParsePriority returns the priority of this name; nothing is Normal.
func ParsePriority(field, name string) (Priority, error) {
	for _, p := range Priorities() {
		if p.String() == name {
			return p, nil
		}
	}
	if name == "" {
		return Normal, nil
	}
	return Normal, fault.Field(field, "must be one of urgent, normal, bulk")
}
