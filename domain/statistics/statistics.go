// Package statistics is about counters that are kept up to date: how many deliveries ended in which
// way within an hour, how long the hand-off took, and what needs an operator's attention. It knows
// what the numbers mean, but not how they are stored.
package statistics

import (
	"context"
	"time"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/orgs"
)

// Retention is how long hourly statistics are kept: a year, and enough beyond it to compare with.
const Retention = 400 * 24 * time.Hour

// Hour is what happened in an organization within an hour.
type Hour struct {
	Start       time.Time // UTC
	Occurrences int       // triggered, or begun when they were scheduled; they count once their recipients are being found
	Failed      int       // deliveries that ended; one that is sent again and fails again counts again
	Skipped     int
	HandOff     Histogram // of the deliveries that were sent: from the trigger, or from when it was made due again, to the provider's yes
}

// Sent is how many deliveries were sent.
func (h Hour) Sent() int { return h.HandOff.Count() }

// Plus returns the sum of two periods, with the start of the first.
func (h Hour) Plus(other Hour) Hour {
	h.Occurrences += other.Occurrences
	h.Failed += other.Failed
	h.Skipped += other.Skipped
	h.HandOff = h.HandOff.Plus(other.HandOff)
	return h
}

// ChannelRetention is how long the hourly statistics of channels are kept.
const ChannelRetention = 8 * 24 * time.Hour

// ChannelHour is what went through a channel within an hour.
type ChannelHour struct {
	Start  time.Time // UTC
	Sent   int       // deliveries that ended, as those of Hour
	Failed int
}

// Backlog is a channel whose deliveries are waiting although they are due.
type Backlog struct {
	Organization orgs.ID
	Slug         string // of the organization
	Channel      channels.ID
	Name         string           // of the channel
	Project      string           // by slug; empty: the channel is the organization's
	Oldest       time.Time        // when the first was due
	Waiting      int              // how many are due, as far as they were counted
	Classes      []Class          // what is due of each priority, the one that goes first at the beginning; without empty ones
	Error        string           // the last error of the first; empty: none
	State        deliveries.State // of the first
}

// Class is what is due of one priority in a channel.
type Class struct {
	Priority events.Priority
	Oldest   time.Time // when the first was due
	Waiting  int       // how many are due, as far as they were counted
}

// Class returns what is due of a priority; the zero value when nothing is.
func (b Backlog) Class(p events.Priority) Class {
	for _, c := range b.Classes {
		if c.Priority == p {
			return c
		}
	}
	return Class{Priority: p}
}

// Due adds up what is due of a priority in several channels.
func Due(all []Backlog, p events.Priority) Class {
	sum := Class{Priority: p}
	for _, b := range all {
		c := b.Class(p)
		sum.Waiting += c.Waiting
		if !c.Oldest.IsZero() && (sum.Oldest.IsZero() || c.Oldest.Before(sum.Oldest)) {
			sum.Oldest = c.Oldest
		}
	}
	return sum
}

// Queue is the work of the installation that waits.
type Queue struct {
	Backlogs   []Backlog // channels with deliveries that are due
	Unexpanded int       // occurrences whose recipients are still being found, as far as they were counted
}

// Failures is an occurrence with deliveries that failed and were not sent again.
type Failures struct {
	Organization orgs.ID
	Occurrence   events.OccurrenceID
	Created      time.Time
	Event        string // by name
	Project      string // by slug
	Application  string // by slug
	Failed       int
}

// Repository returns the numbers. The writers of deliveries update them, in the same units of work.
type Repository interface {
	// Hours returns the statistics of the organization's hours from the one of from to the last one
	// that begins before until, by time. Hours without traffic are left out.
	Hours(ctx context.Context, org orgs.ID, from, until time.Time) ([]Hour, error)
	// Sent reports whether a message of the organization was ever sent, as far as numbers are kept.
	Sent(ctx context.Context, org orgs.ID) (bool, error)
	// Contexts returns the size in bytes of the contexts of the organization's occurrences that
	// were triggered on the day of since or later; since zero: all that are counted. An occurrence
	// counts once its expansion has begun. A scheduled one counts at once, on the day for which it
	// is scheduled.
	Contexts(ctx context.Context, org orgs.ID, since time.Time) (int64, error)
	// Backlogs returns the channels of these organizations with deliveries that were due before a
	// time, and how many there are, counted up to most for each channel and priority. It reads no
	// more rows than it counts. Its times, and those of BacklogsOf and Queue, are by the clock that
	// decides what is due; see StoreTime of [deliveries.Repository].
	Backlogs(ctx context.Context, in []orgs.ID, before time.Time, most int) ([]Backlog, error)
	// BacklogsOf is Backlogs of these channels of the organization, or of any of its projects.
	BacklogsOf(ctx context.Context, org orgs.ID, ids []channels.ID, before time.Time, most int) ([]Backlog, error)
	// ChannelHours returns the statistics of these channels of the organization, or of any of its
	// projects, from the hour of from on, by time. Hours without traffic are left out.
	ChannelHours(ctx context.Context, org orgs.ID, ids []channels.ID, from time.Time) (map[channels.ID][]ChannelHour, error)
	// Queue returns the waiting work of all organizations at a time, each number counted up to
	// most.
	Queue(ctx context.Context, now time.Time, most int) (Queue, error)
	// Workers returns the workers that have sent a heartbeat and have not left, by owner; at most
	// 100.
	Workers(ctx context.Context) ([]deliveries.Presence, error)
	// Failures returns occurrences of these organizations, begun at or after a moment, with
	// deliveries that failed and were not sent again: the newest first, at most limit of each
	// organization.
	Failures(ctx context.Context, in []orgs.ID, since time.Time, limit int) ([]Failures, error)
	// Snoozes returns the snoozes of these organizations, at most MaxSnoozes of each, those that
	// have ended included.
	Snoozes(ctx context.Context, in []orgs.ID) ([]Snooze, error)
	// Snooze keeps a snooze and replaces the one that its problem has, and the MaxSnoozes latest
	// of its organization.
	Snooze(ctx context.Context, s Snooze) error
	// EndSnooze ends the snooze of a problem and reports whether there was one.
	EndSnooze(ctx context.Context, org orgs.ID, problem string) (bool, error)
}
