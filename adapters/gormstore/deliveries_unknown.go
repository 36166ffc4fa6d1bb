package gormstore

import (
	"context"
	"slices"

	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/names"
	"github.com/tocsin/tocsin/domain/users"
)

// knownRow is a word of an occurrence's options that means something.
type knownRow struct {
	Username string // folded
	Address  string // the key
}

// Unknown asks only about what the options name: most occurrences name nothing.
func (r deliveryRepo) Unknown(ctx context.Context, o events.Occurrence) (u events.Unknown, err error) {
	if len(o.Options.LimitTo) > 0 {
		if u.People, err = r.unknownPeople(ctx, o); err != nil {
			return u, err
		}
	}
	if len(o.Options.Channels) > 0 {
		u.Channels, err = r.unknownChannels(ctx, o)
	}
	return u, err
}

func (r deliveryRepo) unknownPeople(ctx context.Context, o events.Occurrence) (unknown []string, err error) {
	c := candidatesOf(r.dialect, o)
	rows, err := rowsOf[knownRow](r.db(ctx).Raw(`
		`+c.byUsername("m.username_fold AS username, '' AS address")+`
		UNION
		SELECT '', a.value_key FROM addresses a WHERE a.organization_id = @organization AND a.value_key @addresses`, c.parameters()))
	if err != nil {
		return nil, err
	}
	usernames, addresses := map[string]bool{}, map[string]bool{}
	for _, row := range rows {
		usernames[row.Username], addresses[row.Address] = true, true
	}
	for _, word := range o.Options.LimitTo {
		if !usernames[names.Fold(word)] && !knownAddress(addresses, word) {
			unknown = append(unknown, word)
		}
	}
	return unknown, nil
}

func knownAddress(known map[string]bool, word string) bool {
	a, err := users.NewAddress(word, "")
	return err == nil && known[a.Key()]
}

func (r deliveryRepo) unknownChannels(ctx context.Context, o events.Occurrence) (unknown []string, err error) {
	const usable = ` AND (NOT EXISTS (SELECT 1 FROM event_channels ec WHERE ec.event_id = @event )
		OR EXISTS (SELECT 1 FROM event_channels ec WHERE ec.event_id = @event AND ec.channel_id = c.id))`
	// Two arms, so that each finds its partial index.
	known, err := rowsOf[string](r.db(ctx).Raw(`
		SELECT c.name_fold FROM channels c WHERE c.organization_id = @organization AND c.project_id IS NULL AND c.name_fold @channels`+usable+`
		UNION
		SELECT c.name_fold FROM channels c WHERE c.organization_id = @organization AND c.project_id IS NOT NULL AND c.project_id = @project
			AND c.name_fold @channels`+usable, candidatesOf(r.dialect, o).parameters()))
	for _, word := range o.Options.Channels {
		if !slices.Contains(known, word) {
			unknown = append(unknown, word)
		}
	}
	return unknown, err
}
