package app

import (
	"context"
	"errors"
	"time"

	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

const (
	// searchedOccurrences is how many occurrences are read for one page of a selection.
	searchedOccurrences = 2_000
	// maxPeople is how many members a selection lists when several match its text.
	maxPeople = 10
)

// OccurrencePage is a page of the occurrences that match a selection.
type OccurrencePage struct {
	Reports []OccurrenceReport // the newest first
	Choices []events.Name      // the first events of the application
	Events  []events.Name      // those of the reports and of the selection
	More    bool               // there may be more in the direction of the selection
	Last    events.OccurrenceID
	Person  *users.Member  // the member of the selection; nil: none matches, or none was asked for
	People  []users.Member // the members that match, if there are several
}

// Select returns the occurrences of the application that match q, of one member if a text names
// one: by the username or by words that match this member alone. It also returns the names of at
// most maxChoices events.
func (o *Occurrences) Select(ctx context.Context, at Path, q deliveries.Selection, person string, maxChoices int) (OccurrencePage, error) {
	return viewAt(ctx, o.store, at, application, func(tx ports.Tx, app applications.Application) (found OccurrencePage, err error) {
		if found.Choices, err = tx.Events().Names(ctx, app, maxChoices); err != nil {
			return found, err
		}
		if err := found.find(ctx, tx, app, q, person); err != nil {
			return found, err
		}
		ids := []events.ID{q.Event}
		for _, r := range found.Reports {
			ids = append(ids, r.Occurrence.Event)
		}
		found.Events, err = tx.Events().NamesOf(ctx, app, ids)
		return found, err
	})
}

// find finds the person and the occurrences; none if a person was asked for and none matches alone.
func (p *OccurrencePage) find(ctx context.Context, tx ports.Tx, a applications.Application, q deliveries.Selection, person string) (err error) {
	if person != "" {
		if err := p.findMembers(ctx, tx, a, person); err != nil || p.Person == nil {
			return err
		}
		q.Member = p.Person.ID
	}
	if !q.Until.IsZero() && q.Before == 0 && q.After == 0 {
		if q.Before, err = firstAfter(ctx, tx, a, q.Until); err != nil {
			return err
		}
	}
	return p.read(ctx, tx, a, q)
}

// findMembers finds the members that match a text.
func (p *OccurrencePage) findMembers(ctx context.Context, tx ports.Tx, a applications.Application, person string) error {
	m, err := tx.Users().ByUsername(ctx, a.Organization, person)
	if err == nil {
		p.Person = &m
	}
	if !errors.Is(err, users.ErrNotFound) {
		return err
	}
	like, err := tx.Users().Search(ctx, a.Organization, users.Query{Text: person, Limit: maxPeople})
	if len(like.Members) == 1 && !like.More {
		p.Person = &like.Members[0]
	} else {
		p.People = like.Members
	}
	return err
}

func (p *OccurrencePage) read(ctx context.Context, tx ports.Tx, a applications.Application, q deliveries.Selection) error {
	q.Searched = searchedOccurrences
	selected, err := tx.Deliveries().Select(ctx, a, q)
	if err != nil {
		return err
	}
	p.More, p.Last = selected.More, selected.Last
	p.Reports, err = occurrenceReports(ctx, tx, a, selected.Occurrences)
	return err
}

// firstAfter returns the id of the first occurrence of the application at or after a time: later
// ones have higher ids. 0: there is none.
func firstAfter(ctx context.Context, tx ports.Tx, a applications.Application, at time.Time) (first events.OccurrenceID, err error) {
	reaches := func(before events.OccurrenceID) (bool, error) { // The newest one before an id is at or after the time.
		newest, err := tx.Deliveries().Occurrences(ctx, a, before, 1)
		if err != nil || len(newest) == 0 || newest[0].Created.Before(at) {
			return false, err
		}
		first = newest[0].ID
		return true, nil
	}
	if found, err := reaches(0); !found {
		return 0, err
	}
	for low := events.OccurrenceID(0); low < first; {
		middle := low + (first-low)/2
		found, err := reaches(middle + 1)
		if err != nil {
			return 0, err
		}
		if !found {
			low = middle + 1
		}
	}
	return first, nil
}
