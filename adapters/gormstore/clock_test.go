package gormstore_test

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/adapters/gormstore/seal"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/imports"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/requests"
	"github.com/tocsin/tocsin/ports"
	"github.com/tocsin/tocsin/test/databases"
)

// wrong is the clock of a machine that is so far ahead of the others.
type wrong time.Duration

func (w wrong) Now() time.Time { return time.Now().Add(time.Duration(w)) }

// instance opens a database as a program on a machine with this clock does.
func instance(t *testing.T, url string, c ports.Clock) *gormstore.Store {
	t.Helper()
	s, err := gormstore.Open(t.Context(), gormstore.Config{URL: url, AutoMigrate: true, Clock: c, ServerClock: true,
		Keys: seal.NewRing([seal.KeySize]byte{1}), Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	return s
}

// TestLeasesUseServerClock is about instances that share a Postgres database and whose clocks
// differ by 90 s.
func TestLeasesUseServerClock(t *testing.T) {
	t.Parallel()
	const apart = 90 * time.Second
	url := databases.Postgres(t)
	right, ahead, behind := instance(t, url, wall{}), instance(t, url, wrong(apart)), instance(t, url, wrong(-apart))
	p := newPost(t, right)
	next := func() deliveries.ID {
		t.Helper()
		p.trigger(t, nil, nil)
		_, err := ahead.Queue().Expand(t.Context(), deliveries.AllOccurrences, 10)
		require.NoError(t, err)
		jobs, err := behind.Queue().Claim(t.Context(), p.channel.ID, "behind", 10, time.Minute)
		require.NoError(t, err)
		require.Len(t, jobs, 1, "what one that is ahead has written is due for one that is behind")
		return jobs[0].ID
	}
	claims := func(s *gormstore.Store) int {
		t.Helper()
		jobs, err := s.Queue().Claim(t.Context(), p.channel.ID, "another", 10, time.Minute)
		require.NoError(t, err)
		return len(jobs)
	}
	due := func(s *gormstore.Store, c ports.Clock) time.Duration {
		t.Helper()
		all, err := s.Queue().Due(t.Context())
		require.NoError(t, err)
		require.Len(t, all, 1)
		assert.Equal(t, p.channel.Organization, all[0].Organization)
		return all[0].At.Sub(c.Now())
	}

	id := next()
	for _, s := range []*gormstore.Store{right, ahead} {
		assert.Zero(t, claims(s), "its lease has not ended")
	}
	held, err := ahead.Queue().Renew(t.Context(), "behind", []deliveries.ID{id}, time.Minute)
	require.NoError(t, err)
	assert.Equal(t, []deliveries.ID{id}, held)
	assert.InDelta(t, time.Minute.Seconds(), due(right, wall{}).Seconds(), 10)
	assert.InDelta(t, time.Minute.Seconds(), due(ahead, wrong(apart)).Seconds(), 10)
	assert.InDelta(t, time.Minute.Seconds(), due(behind, wrong(-apart)).Seconds(), 10)

	lost, err := behind.Queue().Record(t.Context(), "behind", []deliveries.Outcome{
		{ID: id, State: deliveries.Retrying, Attempts: 1, Next: wrong(-apart).Now().Add(time.Minute)}})
	require.NoError(t, err)
	assert.Zero(t, lost)
	assert.Zero(t, claims(ahead), "it is due in a minute, for everybody")
	assert.InDelta(t, time.Minute.Seconds(), due(right, wall{}).Seconds(), 10)
	_, err = behind.Queue().Renew(t.Context(), "behind", []deliveries.ID{id}, time.Minute)
	require.NoError(t, err)

	assertSkew := func(want time.Duration, s *gormstore.Store, owner string) {
		t.Helper()
		began := time.Now()
		skew, err := s.Queue().Heartbeat(t.Context(), deliveries.Presence{Owner: owner, Started: began})
		require.NoError(t, err)
		// The server's clock is read at some moment of the call: half of its time is uncertain.
		assert.InDelta(t, want.Seconds(), skew.Seconds(), 1+time.Since(began).Seconds()/2)
	}
	assertSkew(apart, ahead, "ahead")
	assertSkew(-apart, behind, "behind")
	for s, c := range map[*gormstore.Store]ports.Clock{right: wall{}, ahead: wrong(apart), behind: wrong(-apart)} {
		var seen []deliveries.Presence
		require.NoError(t, s.View(t.Context(), func(tx ports.Tx) (err error) {
			seen, err = tx.Statistics().Workers(t.Context())
			return err
		}))
		require.Len(t, seen, 2)
		for _, w := range seen {
			assert.False(t, w.Lost(c.Now()), "whoever asks")
			assert.True(t, w.Skewed())
		}
	}
}

// TestUrgencyUsesServerClock is about a machine whose clock is behind: it sees at once that an
// urgent message is due behind others.
func TestUrgencyUsesServerClock(t *testing.T) {
	t.Parallel()
	url := databases.Postgres(t)
	right, behind := instance(t, url, wall{}), instance(t, url, wrong(-5*time.Minute))
	p := newPost(t, right)
	for _, priority := range []events.Priority{events.Bulk, events.Urgent} {
		p.occurs.Priority = priority
		p.trigger(t, nil, nil)
		_, err := right.Queue().Expand(t.Context(), deliveries.AllOccurrences, 10)
		require.NoError(t, err)
		due, err := behind.Queue().Due(t.Context())
		require.NoError(t, err)
		require.Len(t, due, 1)
		assert.Equal(t, priority, due[0].Priority)
	}
}

// TestPurgeUsesServerClock is about a machine whose clock is years ahead: it deletes nothing that
// is still needed.
func TestPurgeUsesServerClock(t *testing.T) {
	t.Parallel()
	url := databases.Postgres(t)
	right, ahead := instance(t, url, wall{}), wrong(1_000*24*time.Hour)
	p := newPost(t, right)
	occurrence := p.trigger(t, nil, nil)
	_, err := right.Queue().Expand(t.Context(), deliveries.AllOccurrences, 10)
	require.NoError(t, err)
	now := time.Now()
	exec(t, right, "UPDATE deliveries SET state = 3, turn = NULL")
	exec(t, right, "UPDATE occurrences SET created_at = now()")
	job := imports.NewJob(p.channel.Organization, "a.csv", "", orgs.Group{}, audit.Actor{}, now)
	require.NoError(t, right.Update(t.Context(), func(tx ports.Tx) error {
		asked := requests.Request{Key: p.key.ID, IdempotencyKey: "w"}
		_, err := tx.Imports().Create(t.Context(), job)
		_, _, err2 := tx.Requests().Begin(t.Context(), asked, now)
		return errors.Join(err, err2, tx.Requests().Finish(t.Context(), asked, requests.Answer{Status: 200, Body: []byte("{}")}),
			tx.Audit().Record(t.Context(), audit.Entry{Organization: p.channel.Organization, At: now, Action: audit.LogExported, Object: "a"}))
	}))

	purge := func(c ports.Clock) int {
		t.Helper()
		before := func(age time.Duration) time.Time { return c.Now().Add(-age) }
		gone, err := instance(t, url, c).Queue().Purge(t.Context(),
			deliveries.Expiry{Requests: before(requests.Lifetime), Entries: before(400 * 24 * time.Hour), Occurrences: before(90 * 24 * time.Hour)}, 100)
		require.NoError(t, err)
		return gone
	}
	purge(wall{}) // the statistics of the occurrence, which was created long ago
	assert.Zero(t, purge(ahead))
	require.NoError(t, instance(t, url, ahead).View(t.Context(), func(tx ports.Tx) error {
		_, err := tx.Deliveries().Occurrence(t.Context(), p.app, occurrence.ID)
		require.NoError(t, err)
		idle, err := tx.Imports().Idle(t.Context(), imports.Uploading, ahead.Now().Add(-15*time.Minute), 10)
		assert.Empty(t, idle, "another instance receives the file")
		return err
	}))
	assert.Zero(t, purge(wall{}))
	exec(t, right, "UPDATE requests SET created_at = now() - interval '25 hours'")
	assert.Equal(t, 1, purge(ahead))
}

// TestImportLeasesUseServerClock checks that an importer whose clock is ahead does not take over an
// import of one whose clock is behind, and that both see the same end of its lease.
func TestImportLeasesUseServerClock(t *testing.T) {
	t.Parallel()
	const apart, lease = 90 * time.Second, time.Minute
	url := databases.Postgres(t)
	ahead, behind := instance(t, url, wrong(apart)), instance(t, url, wrong(-apart))
	org := newPost(t, behind).channel.Organization
	next := func(s *gormstore.Store, c ports.Clock) (imports.Job, error) {
		return ports.View(t.Context(), s, func(tx ports.Tx) (imports.Job, error) { return tx.Imports().Next(t.Context(), c.Now()) })
	}
	job, err := ports.Update(t.Context(), behind, func(tx ports.Tx) (imports.Job, error) {
		j := imports.NewJob(org, "a.csv", "", orgs.Group{}, audit.Actor{}, wrong(-apart).Now())
		j.State = imports.Running
		j, err := tx.Imports().Create(t.Context(), j)
		require.NoError(t, err)
		return tx.Imports().Save(t.Context(), j.Claim("behind", wrong(-apart).Now(), lease))
	})
	require.NoError(t, err)
	until := func(s *gormstore.Store, c ports.Clock) time.Duration {
		j, err := ports.View(t.Context(), s, func(tx ports.Tx) (imports.Job, error) { return tx.Imports().ByID(t.Context(), org, job.ID) })
		require.NoError(t, err)
		return j.Until.Sub(c.Now())
	}
	for range 2 {
		_, err = next(ahead, wrong(apart))
		require.ErrorIs(t, err, imports.ErrNothingToDo)
		assert.InDelta(t, lease.Seconds(), until(ahead, wrong(apart)).Seconds(), 10)
		assert.InDelta(t, lease.Seconds(), until(behind, wrong(-apart)).Seconds(), 10)
		require.NoError(t, behind.Update(t.Context(), func(tx ports.Tx) error {
			return tx.Imports().ExtendLease(t.Context(), job.ID, "behind", wrong(-apart).Now().Add(lease))
		}))
	}
	exec(t, behind, "UPDATE imports SET lease_until = now() - interval '1 second'")
	for s, c := range map[*gormstore.Store]ports.Clock{ahead: wrong(apart), behind: wrong(-apart)} {
		found, err := next(s, c)
		require.NoError(t, err)
		assert.Equal(t, 1, found.Claim("another", c.Now(), lease).Failures, "its owner did not give it back")
	}
}
