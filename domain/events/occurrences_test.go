package events_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/events"
)

func TestNewOptions(t *testing.T) {
	t.Parallel()
	t.Run("WithoutAnyNothingIsRestricted", func(t *testing.T) {
		t.Parallel()
		o, err := events.NewOptions(nil, nil)
		require.NoError(t, err)
		assert.Equal(t, events.Options{}, o)
	})
	t.Run("AnEmptyListIsNotEverybody", func(t *testing.T) {
		t.Parallel()
		_, err := events.NewOptions([]string{}, []string{})
		assert.Equal(t, map[string][]string{"options.limit_to": {"is empty; leave it out to restrict nothing"},
			"options.channels": {"is empty; leave it out to restrict nothing"}}, complaints(t, err))
	})
	t.Run("WhatIsRepeatedCountsOnce", func(t *testing.T) {
		t.Parallel()
		o, err := events.NewOptions([]string{" ada ", "bob", "ada"}, []string{"Mail", " MAIL", "E\u0301", "é"})
		require.NoError(t, err)
		assert.Equal(t, events.Options{LimitTo: []string{"ada", "bob"}, Channels: []string{"mail", "é"}}, o)
	})
	t.Run("RecipientsAreLimitedInNumber", func(t *testing.T) {
		t.Parallel()
		many := make([]string, events.MaxLimitTo)
		for i := range many {
			many[i] = fmt.Sprint(i)
		}
		o, err := events.NewOptions(many, nil)
		require.NoError(t, err)
		assert.Len(t, o.LimitTo, events.MaxLimitTo)
		_, err = events.NewOptions(slices.Concat(many, []string{"0"}), nil)
		assert.Equal(t, map[string][]string{"options.limit_to": {"has more than 10000 entries"}}, complaints(t, err))
	})
	t.Run("NamesEveryMistakeAtOnce", func(t *testing.T) {
		t.Parallel()
		_, err := events.NewOptions([]string{"ada", " ", ""}, []string{""})
		assert.Equal(t, map[string][]string{"options.limit_to": {"has an empty entry"}, "options.channels": {"has an empty entry"}}, complaints(t, err))
	})
}

func TestRecipients(t *testing.T) {
	t.Parallel()
	t.Run("AWordMayBeAUsernameOrAnAddress", func(t *testing.T) {
		t.Parallel()
		o, err := events.NewOptions([]string{"Ada", "Bob@Example.org", "+49 1511 2345678"}, nil)
		require.NoError(t, err)
		usernames, addresses := o.Recipients()
		assert.Equal(t, []string{"ada", "bob@example.org", "+49 1511 2345678"}, usernames)
		assert.Equal(t, []string{"Ada", "bob@example.org", "+4915112345678"}, addresses)
	})
	t.Run("WhatCannotBeAnAddressIsNobodys", func(t *testing.T) {
		t.Parallel()
		long := strings.Repeat("x", 3_000)
		o, err := events.NewOptions([]string{long}, nil)
		require.NoError(t, err)
		usernames, addresses := o.Recipients()
		assert.Equal(t, []string{long}, usernames)
		assert.Empty(t, addresses)
	})
	t.Run("WithoutOptionsThereAreNone", func(t *testing.T) {
		t.Parallel()
		usernames, addresses := events.Options{}.Recipients()
		assert.Empty(t, usernames)
		assert.Empty(t, addresses)
	})
}
