package events_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

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
	t.Run("EmptyListIsNotEverybody", func(t *testing.T) {
		t.Parallel()
		_, err := events.NewOptions([]string{}, []string{})
		assert.Equal(t, map[string][]string{"options.limit_to": {"is empty; leave it out to restrict nothing"},
			"options.channels": {"is empty; leave it out to restrict nothing"}}, complaints(t, err))
	})
	t.Run("DuplicatesCountOnce", func(t *testing.T) {
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
	t.Run("InvalidAddressMatchesNobody", func(t *testing.T) {
		t.Parallel()
		long := strings.Repeat("x", 3_000)
		o, err := events.NewOptions([]string{long}, nil)
		require.NoError(t, err)
		usernames, addresses := o.Recipients()
		assert.Equal(t, []string{long}, usernames)
		assert.Empty(t, addresses)
	})
	t.Run("APhoneNumberWithoutCountryCodeIsOneOfTheRegion", func(t *testing.T) {
		t.Parallel()
		o := events.Options{LimitTo: []string{"0151 12345678", "0151 99999999", "bob", "+49 30 1"}}
		is := o.InRegion("DE", []string{"0151 12345678", "bob", "+49 30 1"})
		assert.Equal(t, []string{"+4915112345678", "0151 99999999", "bob", "+49 30 1"}, is.LimitTo)
		assert.Equal(t, "0151 12345678", o.LimitTo[0], "the others keep theirs")
		assert.Equal(t, o, o.InRegion("", o.LimitTo))
	})
	t.Run("WithoutOptionsThereAreNone", func(t *testing.T) {
		t.Parallel()
		usernames, addresses := events.Options{}.Recipients()
		assert.Empty(t, usernames)
		assert.Empty(t, addresses)
	})
}

func TestParseMoment(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2026-12-24T18:00:00+01:00": "2026-12-24T17:00:00Z", "2026-12-24T18:00:00Z": "2026-12-24T18:00:00Z", "2026-12-24T18:00:00.25Z": "2026-12-24T18:00:00.25Z",
		"": "", "2026-12-24": "", "2026-12-24T18:00:00": "", "tomorrow": "", "2026-12-24T18:00:00Zz": "", "2026-02-30T00:00:00Z": "",
		"2026-12-24T18:00:00,25Z": "", "2026-12-24t18:00:00z": "", "1970-01-01T00:00:01Z": "1970-01-01T00:00:01Z",
		"2027-06-30T2:00:00Z": "", "2027-06-30T23:00:00+24:00": "", "2027-06-30T23:00:00+23:60": "", "2027-06-30T23:00:00+23:59": "2027-06-29T23:01:00Z",
	} {
		at, err := events.ParseTime("options.send_at", text)
		if want == "" {
			assert.Equal(t, map[string][]string{"options.send_at": {"must be a time with an offset, such as 2026-12-24T18:00:00+01:00"}}, complaints(t, err), text)
			continue
		}
		require.NoError(t, err, text)
		assert.Equal(t, want, at.Format(time.RFC3339Nano))
	}
	for _, text := range []string{"0001-01-01T00:00:00Z", "1969-12-31T23:59:59Z", "1970-01-01T00:00:00Z", "1970-01-01T01:00:00+01:00"} {
		_, err := events.ParseTime("options.send_at", text)
		assert.Equal(t, map[string][]string{"options.send_at": {"is before 1970"}}, complaints(t, err), text)
	}
}

func TestSettle(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, c := range map[string]struct {
		sendAt, expiresAt time.Duration // from now on; 0: none
		want              map[string][]string
		begins            time.Duration
	}{
		"Neither":                  {0, 0, nil, 0},
		"ATimeAhead":               {time.Hour, 0, nil, time.Hour},
		"ATimePastIsAtOnce":        {-time.Hour, 0, nil, 0},
		"AYearAhead":               {events.MaxAhead, 0, nil, events.MaxAhead},
		"MoreThanAYearAhead":       {events.MaxAhead + 1, 0, map[string][]string{"options.send_at": {"is more than a year ahead"}}, 0},
		"AnExpiry":                 {0, time.Second, nil, 0},
		"AnExpiryThatHasPassed":    {0, -time.Second, map[string][]string{"options.expires_at": {"has passed"}}, 0},
		"AnExpiryAfterTheTime":     {time.Hour, time.Hour + 1, nil, time.Hour},
		"AnExpiryAtTheTime":        {time.Hour, time.Hour, map[string][]string{"options.expires_at": {"must be after send_at"}}, 0},
		"AnExpiryBeforeTheTime":    {time.Hour, time.Minute, map[string][]string{"options.expires_at": {"must be after send_at"}}, 0},
		"AnExpiryAYearAfterTheEnd": {events.MaxAhead, 2 * events.MaxAhead, nil, events.MaxAhead},
		"AnExpiryFurtherAhead": {time.Hour, time.Hour + events.MaxAhead + 1,
			map[string][]string{"options.expires_at": {"is more than a year after the messages are to be sent"}}, 0},
		"BothWrong": {events.MaxAhead + 1, -1,
			map[string][]string{"options.send_at": {"is more than a year ahead"}, "options.expires_at": {"has passed"}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var o events.Options
			if c.sendAt != 0 {
				o.SendAt = now.Add(c.sendAt)
			}
			if c.expiresAt != 0 {
				o.ExpiresAt = now.Add(c.expiresAt)
			}
			settled, err := o.Resolve(now)
			if c.want != nil {
				assert.Equal(t, c.want, complaints(t, err))
				return
			}
			require.NoError(t, err)
			occurred := events.Occurrence{Created: now, Options: settled}
			assert.Equal(t, now.Add(c.begins), cmp.Or(occurred.Options.SendAt, occurred.Created))
			assert.Equal(t, o.ExpiresAt, settled.ExpiresAt)
			assert.False(t, occurred.Expired(now))
			assert.Equal(t, c.expiresAt != 0, occurred.Expired(now.Add(c.expiresAt)))
		})
	}
}
