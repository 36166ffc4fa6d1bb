package mailbox_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/adapters/gormstore/seal"
	"github.com/tocsin/tocsin/adapters/mailbox"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/ports"
	"github.com/tocsin/tocsin/test/clocks"
	"github.com/tocsin/tocsin/test/databases"
)

// post is a channel with the driver on its own store.
type post struct {
	store   *gormstore.Store
	channel channels.Channel
}

func newPost(tb testing.TB, url string, settings channels.Settings) *post {
	tb.Helper()
	store, err := gormstore.Open(tb.Context(), gormstore.Config{URL: url, AutoMigrate: true, Clock: clocks.Wall{}, Keys: seal.NewRing([seal.KeySize]byte{1})})
	require.NoError(tb, err)
	tb.Cleanup(func() { assert.NoError(tb, store.Close()) })
	p := &post{store: store}
	require.NoError(tb, store.Update(tb.Context(), func(tx ports.Tx) error {
		org, err := tx.Orgs().Create(tb.Context(), orgs.Organization{Slug: "acme", Name: "Acme"})
		if err != nil {
			return err
		}
		p.channel, err = tx.Channels().Create(tb.Context(), channels.Channel{Organization: org.ID, Name: "mail", Protocol: channels.EMAIL, Driver: mailbox.Name,
			Settings: settings, Active: true})
		return err
	}))
	return p
}

func (p *post) open(tb testing.TB) deliveries.Dispatcher {
	tb.Helper()
	driver := mailbox.New(p.store)
	require.NoError(tb, driver.Check(p.channel))
	return p.of(tb, driver, p.channel)
}

// another creates another channel of the organization.
func (p *post) another(t *testing.T, name string) channels.Channel {
	t.Helper()
	c := p.channel
	c.ID, c.Name = 0, name
	require.NoError(t, p.store.Update(t.Context(), func(tx ports.Tx) (err error) {
		c, err = tx.Channels().Create(t.Context(), c)
		return err
	}))
	return c
}

// of returns a dispatcher of a driver for a channel.
func (p *post) of(tb testing.TB, driver *mailbox.Driver, c channels.Channel) deliveries.Dispatcher {
	tb.Helper()
	d, err := driver.Open(c)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, d.Close()) })
	return d
}

// subjects returns the subjects of the kept messages, the newest first.
func (p *post) subjects(t *testing.T) []string {
	t.Helper()
	var all []string
	require.NoError(t, p.store.View(t.Context(), func(tx ports.Tx) error {
		found, err := tx.Mailbox().List(t.Context(), p.channel.Organization, deliveries.MailboxFilter{Limit: 10_000})
		for _, k := range found {
			all = append(all, k.Message.Subject)
		}
		return err
	}))
	return all
}

func message(n int) deliveries.Message {
	return deliveries.Message{ID: strconv.Itoa(n), To: "ada@example.org", Subject: strconv.Itoa(n), Text: "text"}
}

func TestChannels(t *testing.T) {
	t.Parallel()
	driver := mailbox.New(nil)
	assert.Equal(t, "mailbox", driver.Name())
	assert.Empty(t, channels.Secrets(driver.Settings()))
	for _, p := range channels.Protocols() {
		require.NoError(t, driver.Check(channels.Channel{Driver: mailbox.Name, Protocol: p}), "%s needs no settings", p)
	}
	for name, c := range map[string]struct {
		settings channels.Settings
		says     string
	}{
		"KeepIsANumber":        {channels.Settings{"keep": "many"}, "settings.keep: must be a number from 1 to 100000"},
		"KeepIsNotZero":        {channels.Settings{"keep": 0}, "settings.keep: must be a number from 1 to 100000"},
		"KeepIsBounded":        {channels.Settings{"keep": 100_001}, "settings.keep: must be a number from 1 to 100000"},
		"OtherSettingsAreNone": {channels.Settings{"host": "x"}, "settings.host: is not a setting of the driver mailbox"},
		"LimitsAreChecked":     {channels.Settings{"concurrency": 0}, "settings.concurrency: must be a whole number from 1 to 256"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wrong := channels.Channel{Driver: mailbox.Name, Protocol: channels.SMS, Settings: c.settings}
			require.EqualError(t, driver.Check(wrong), c.says)
			_, err := driver.Open(wrong)
			require.EqualError(t, err, c.says)
		})
	}
}

func TestDispatch(t *testing.T) {
	t.Parallel()
	t.Run("KeepsTheMessageBeforeItReturns", func(t *testing.T) {
		t.Parallel()
		p := newPost(t, "sqlite::memory:", nil)
		d := p.open(t)
		require.NoError(t, d.Dispatch(t.Context(), message(1)))
		assert.Equal(t, []string{"1"}, p.subjects(t))
		require.NoError(t, d.Dispatch(t.Context(), message(1)))
		assert.Equal(t, []string{"1"}, p.subjects(t), "a repeated attempt keeps one")
	})
	t.Run("KeepsTheNewest", func(t *testing.T) {
		t.Parallel()
		p := newPost(t, "sqlite::memory:", channels.Settings{"keep": 3})
		d := p.open(t)
		for n := range 10 {
			require.NoError(t, d.Dispatch(t.Context(), message(n)))
			assert.LessOrEqual(t, len(p.subjects(t)), 3)
		}
		assert.Equal(t, []string{"9", "8", "7"}, p.subjects(t))
	})
	t.Run("KeepsATenthMoreAtMost", func(t *testing.T) {
		t.Parallel()
		p := newPost(t, "sqlite::memory:", channels.Settings{"keep": 50})
		d := p.open(t)
		for n := range 200 {
			require.NoError(t, d.Dispatch(t.Context(), message(n)))
			kept := len(p.subjects(t))
			assert.LessOrEqual(t, kept, 54)
			assert.GreaterOrEqual(t, kept, min(n+1, 50))
		}
	})
	t.Run("AProcessThatSendsOneTrims", func(t *testing.T) {
		t.Parallel()
		p := newPost(t, "sqlite::memory:", channels.Settings{"keep": 20})
		for n := range 30 {
			require.NoError(t, p.open(t).Dispatch(t.Context(), message(n)))
		}
		assert.Len(t, p.subjects(t), 20)
	})
	t.Run("IsSafeAtOnce", func(t *testing.T) {
		t.Parallel()
		p := newPost(t, "sqlite::memory:", channels.Settings{"keep": 100})
		d := p.open(t)
		var all sync.WaitGroup
		for worker := range 16 {
			all.Go(func() {
				for n := range 20 {
					assert.NoError(t, d.Dispatch(t.Context(), message(20*worker+n)))
				}
			})
		}
		all.Wait()
		kept := len(p.subjects(t))
		assert.True(t, 100 <= kept && kept < 100+10+16, "%d are kept: a step more, and those that overtook the last trim", kept)
	})
	t.Run("UnavailableStoreIsAnUnavailableChannel", func(t *testing.T) {
		t.Parallel()
		p := newPost(t, "sqlite::memory:", nil)
		d := p.open(t)
		require.NoError(t, p.store.Close())
		failure := deliveries.FailureOf(d.Dispatch(t.Context(), message(1)))
		assert.True(t, failure.Temporary && failure.Channel)
		require.ErrorIs(t, failure, ports.ErrUnavailable)
	})
	t.Run("AChannelThatWasDeletedKeepsNothing", func(t *testing.T) {
		t.Parallel()
		p := newPost(t, "sqlite::memory:", nil)
		d := p.open(t)
		require.NoError(t, p.store.Update(t.Context(), func(tx ports.Tx) error { return tx.Channels().Delete(t.Context(), p.channel) }))
		failure := deliveries.FailureOf(d.Dispatch(t.Context(), message(1)))
		assert.True(t, failure.Temporary && failure.Channel)
		require.ErrorIs(t, failure, channels.ErrNotFound)
	})
	t.Run("CancelledAttemptDoesNotCount", func(t *testing.T) {
		t.Parallel()
		d := newPost(t, "sqlite::memory:", nil).open(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		failure := deliveries.FailureOf(d.Dispatch(ctx, message(1)))
		assert.True(t, failure.Temporary)
		assert.False(t, failure.Channel)
	})
}

// everySecond is a store whose every second unit of work that writes fails, until it works.
type everySecond struct {
	ports.Store
	units int
	works bool
}

func (s *everySecond) Update(ctx context.Context, fn func(ports.Tx) error) error {
	if s.units++; s.units%2 == 0 && !s.works {
		return ports.ErrUnavailable
	}
	return s.Store.Update(ctx, fn)
}

// TestBytesOfAnOrganization fills the mailbox of an organization, whose limit is 1 MiB here.
func TestBytesOfAnOrganization(t *testing.T) {
	t.Parallel()
	const maxBytes, fit = 1 << 20, 48 // large messages
	for name, url := range map[string]func(testing.TB) string{
		"sqlite":   func(testing.TB) string { return "sqlite::memory:" },
		"postgres": databases.Postgres,
	} {
		// large returns a message of 20 KiB. With its row it takes a little more than 21.
		large := func(n int) deliveries.Message {
			m := message(n)
			m.HTML = strings.Repeat("a", 20<<10)
			return m
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			t.Run("OldestMessagesOfAllChannelsGo", func(t *testing.T) {
				t.Parallel()
				p := newPost(t, url(t), nil)
				driver := mailbox.NewSmall(p.store, maxBytes)
				boxes := []deliveries.Dispatcher{p.of(t, driver, p.channel), p.of(t, driver, p.another(t, "second")), p.of(t, driver, p.another(t, "third"))}
				for n := range 120 {
					require.NoError(t, boxes[n%3].Dispatch(t.Context(), large(n)))
					kept := p.subjects(t)
					require.Len(t, kept, min(n+1, fit))
					assert.Equal(t, strconv.Itoa(n), kept[0], "the newest is kept")
					assert.Equal(t, strconv.Itoa(n-len(kept)+1), kept[len(kept)-1], "the oldest go first")
				}
			})
			t.Run("SmallMessagesAreCountedTogether", func(t *testing.T) {
				t.Parallel()
				p := newPost(t, url(t), channels.Settings{"keep": mailbox.MaxKeep})
				d := p.of(t, mailbox.NewSmall(p.store, maxBytes), p.channel)
				for n := range 1_200 {
					require.NoError(t, d.Dispatch(t.Context(), message(n)))
				}
				kept := len(p.subjects(t))
				assert.True(t, 800 < kept && kept <= maxBytes/deliveries.MailboxOverhead, "%d are kept", kept)
			})
			t.Run("ProcessThatSendsOneDeletes", func(t *testing.T) {
				t.Parallel()
				p := newPost(t, url(t), nil)
				for n := range 60 {
					require.NoError(t, p.of(t, mailbox.NewSmall(p.store, maxBytes), p.channel).Dispatch(t.Context(), large(n)))
				}
				assert.Len(t, p.subjects(t), fit)
			})
			t.Run("MessageThatIsTooLargeIsKeptAlone", func(t *testing.T) {
				t.Parallel()
				p := newPost(t, url(t), nil)
				d := p.of(t, mailbox.NewSmall(p.store, maxBytes), p.channel)
				for n := range 3 {
					m := message(n)
					m.HTML = strings.Repeat("a", 2*maxBytes)
					require.NoError(t, d.Dispatch(t.Context(), m))
					assert.Equal(t, []string{m.Subject}, p.subjects(t))
				}
			})
			t.Run("IsSafeAtOnce", func(t *testing.T) {
				t.Parallel()
				p := newPost(t, url(t), nil)
				d := p.of(t, mailbox.NewSmall(p.store, maxBytes), p.channel)
				var all sync.WaitGroup
				for worker := range 8 {
					all.Go(func() {
						for n := range 20 {
							assert.NoError(t, d.Dispatch(t.Context(), large(20*worker+n)))
						}
					})
				}
				all.Wait()
				require.NoError(t, d.Dispatch(t.Context(), large(160)))
				assert.Len(t, p.subjects(t), fit)
			})
			t.Run("FailedDeletionIsTriedAgain", func(t *testing.T) {
				t.Parallel()
				p := newPost(t, url(t), nil)
				store := &everySecond{Store: p.store}
				d := p.of(t, mailbox.NewSmall(store, maxBytes), p.channel)
				for n := range 50 { // Each message is kept, and its deletion fails.
					require.NoError(t, d.Dispatch(t.Context(), large(n)))
				}
				assert.Len(t, p.subjects(t), 50)
				store.works = true
				require.NoError(t, d.Dispatch(t.Context(), large(50)))
				assert.Len(t, p.subjects(t), fit)
			})
		})
	}
}

// BenchmarkDispatch stores messages on disk, 16 at a time, in a channel with the default settings.
func BenchmarkDispatch(b *testing.B) {
	d := newPost(b, "sqlite:"+b.TempDir()+"/tocsin.db", nil).open(b)
	numbers := make(chan int)
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for n := range numbers {
				assert.NoError(b, d.Dispatch(b.Context(), deliveries.Message{ID: fmt.Sprint("m", n), To: "ada@example.org", Subject: "Subject", Text: "text"}))
			}
		})
	}
	n := 0
	for b.Loop() {
		n++
		numbers <- n
	}
	close(numbers)
	all.Wait()
}
