package gormstore

import (
	"context"
	"slices"

	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/names"
	"github.com/tocsin/tocsin/domain/users"
)

// knownRow is a username or address of an occurrence's options that exists.
type knownRow struct {
	Username string // folded
	Address  string // the key
}

// Unknown runs one query for all recipients that the occurrences name, and one for all channels.
// Most occurrences name neither.
func (r deliveryRepo) Unknown(ctx context.Context, os []events.Occurrence) ([]events.Unknown, error) {
	var all events.Occurrence
	for i, o := range os {
		if i == 0 {
			all = o
			all.Options = events.Options{}
		}
		all.Options.LimitTo = append(all.Options.LimitTo, o.Options.LimitTo...)
		all.Options.Channels = append(all.Options.Channels, o.Options.Channels...)
	}
	unknown := make([]events.Unknown, len(os))
	if len(all.Options.LimitTo) > 0 {
		known, err := r.knownRecipients(ctx, all)
		if err != nil {
			return nil, err
		}
		for i, o := range os {
			unknown[i].People = unknownWords(o.Options.LimitTo, known)
		}
	}
	if len(all.Options.Channels) > 0 {
		known, err := r.knownChannels(ctx, all)
		if err != nil {
			return nil, err
		}
		for i, o := range os {
			unknown[i].Channels = unknownWords(o.Options.Channels, func(word string) bool { return slices.Contains(known, word) })
		}
	}
	return unknown, nil
}

// unknownWords returns the words that are not known.
func unknownWords(words []string, known func(string) bool) (unknown []string) {
	for _, w := range words {
		if !known(w) {
			unknown = append(unknown, w)
		}
	}
	return unknown
}

// knownRecipients returns a function that reports whether a word is a member's username or a stored
// address.
func (r deliveryRepo) knownRecipients(ctx context.Context, o events.Occurrence) (func(word string) bool, error) {
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
	return func(word string) bool { return usernames[names.Fold(word)] || knownAddress(addresses, word) }, nil
}

func knownAddress(known map[string]bool, word string) bool {
	a, err := users.NewAddress(word, "")
	return err == nil && known[a.Key()]
}

// knownChannels returns the given names of channels and pools that the event can use, folded.
func (r deliveryRepo) knownChannels(ctx context.Context, o events.Occurrence) ([]string, error) {
	usable := " AND " + channelAllowedFor("@event", "c")
	// Separate queries, so that each uses its partial index.
	return rowsOf[string](r.db(ctx).Raw(`
		SELECT c.name_fold FROM channels c WHERE c.organization_id = @organization AND c.project_id IS NULL AND c.name_fold @channels`+usable+`
		UNION
		SELECT c.name_fold FROM channels c WHERE c.organization_id = @organization AND c.project_id IS NOT NULL AND c.project_id = @project
			AND c.name_fold @channels`+usable+`
		UNION
		SELECT c.pool FROM channels c WHERE c.organization_id = @organization AND c.pool <> '' AND `+channelOf("@project ")+`
			AND c.pool @channels`+usable, candidatesOf(r.dialect, o).parameters()))
}
