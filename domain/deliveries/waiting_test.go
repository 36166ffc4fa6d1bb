package deliveries_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
)

func TestWaitsFor(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	before, soon, later := now.Add(-time.Minute), now.Add(time.Minute), now.Add(time.Hour)
	down := channels.Condition{Outages: []channels.Outage{{Since: before, Until: soon, Error: "connection refused"}}}
	trial := channels.Condition{Outages: []channels.Outage{{Since: before, Until: before, Error: "connection refused"}}}
	asked := channels.Condition{Outages: []channels.Outage{{Since: before, Until: soon, ForAll: true, Error: "429 too many"}}}
	askedAndDown := channels.Condition{Outages: append(asked.Outages[:1:1], down.Outages...)}
	limited := channels.Condition{PerSecond: 0.5}
	spent := channels.Condition{PerSecond: 5, UsedUp: soon}
	downAndSpent, askedAndSpent := down, asked
	downAndSpent.UsedUp, askedAndSpent.UsedUp = later, later
	inactive := down
	inactive.Inactive = true
	seen := map[deliveries.Cause]bool{deliveries.ForLookup: true, deliveries.ForSchedule: true, deliveries.ForRelease: true} // They are the occurrence's and the installation's.
	for name, c := range map[string]struct {
		state deliveries.State
		next  time.Time
		of    channels.Condition
		want  deliveries.Waiting
		said  string
	}{
		"Due":             {deliveries.Pending, before, channels.Condition{}, deliveries.Waiting{For: deliveries.ForWorker}, "its turn"},
		"DueThisMoment":   {deliveries.Pending, now, channels.Condition{}, deliveries.Waiting{For: deliveries.ForWorker}, "its turn"},
		"DueAgain":        {deliveries.Retrying, before, channels.Condition{}, deliveries.Waiting{For: deliveries.ForWorker}, "its turn"},
		"HostPutOff":      {deliveries.Pending, soon, channels.Condition{}, deliveries.Waiting{For: deliveries.ForAttempt, Until: soon}, "the next attempt, at 2026-01-02T03:05:05Z"},
		"Retrying":        {deliveries.Retrying, soon, limited, deliveries.Waiting{For: deliveries.ForAttempt, Until: soon}, "the next attempt, at 2026-01-02T03:05:05Z"},
		"DueWithALimit":   {deliveries.Pending, before, limited, deliveries.Waiting{For: deliveries.ForWorker, PerSecond: 0.5}, "its turn; the channel sends at most 0.5 a second"},
		"HeldWithALimit":  {deliveries.Sending, soon, limited, deliveries.Waiting{For: deliveries.ForAnswer}, "a worker, which is sending it or is about to"},
		"Sending":         {deliveries.Sending, soon, channels.Condition{}, deliveries.Waiting{For: deliveries.ForAnswer}, "a worker, which is sending it or is about to"},
		"SendingAsATrial": {deliveries.Sending, soon, trial, deliveries.Waiting{For: deliveries.ForAnswer}, "a worker, which is sending it or is about to"},
		"LeaseIsOver":     {deliveries.Sending, before, channels.Condition{}, deliveries.Waiting{For: deliveries.ForWorker}, "its turn"},
		"ChannelPaused": {deliveries.Pending, before, down, deliveries.Waiting{For: deliveries.ForChannel, Since: before, Until: soon, Error: "connection refused"},
			"the channel to work again, which has failed since 2026-01-02T03:03:05Z: connection refused; next attempt at 2026-01-02T03:05:05Z"},
		"ChannelPausedAndDueLater": {deliveries.Retrying, later, down, deliveries.Waiting{For: deliveries.ForChannel, Since: before, Until: later, Error: "connection refused"},
			"the channel to work again, which has failed since 2026-01-02T03:03:05Z: connection refused; next attempt at 2026-01-02T04:04:05Z"},
		"ChannelIsTried": {deliveries.Pending, before, trial, deliveries.Waiting{For: deliveries.ForChannel, Since: before, Error: "connection refused"},
			"the channel to work again, which has failed since 2026-01-02T03:03:05Z: connection refused"},
		"ProviderAsked":         {deliveries.Pending, before, asked, deliveries.Waiting{For: deliveries.ForLimit, Until: soon, Error: "429 too many"}, "the provider, which asked for a pause until 2026-01-02T03:05:05Z: 429 too many"},
		"ProviderAskedAndLater": {deliveries.Retrying, later, asked, deliveries.Waiting{For: deliveries.ForLimit, Until: later, Error: "429 too many"}, "the provider, which asked for a pause until 2026-01-02T04:04:05Z: 429 too many"},
		"ProviderAskedForAll":   {deliveries.Pending, before, askedAndDown, deliveries.Waiting{For: deliveries.ForLimit, Until: soon, Error: "429 too many"}, "the provider, which asked for a pause until 2026-01-02T03:05:05Z: 429 too many"},
		"RequestedPauseIsOver": {deliveries.Pending, before, channels.Condition{Outages: []channels.Outage{{Since: before, Until: before, ForAll: true}}},
			deliveries.Waiting{For: deliveries.ForWorker}, "its turn"},
		"QuotaUsedUp":         {deliveries.Pending, before, spent, deliveries.Waiting{For: deliveries.ForQuota, Until: soon}, "the channel, whose quota is used up until 2026-01-02T03:05:05Z"},
		"QuotaUsedUpAndLater": {deliveries.Retrying, later, spent, deliveries.Waiting{For: deliveries.ForQuota, Until: later}, "the channel, whose quota is used up until 2026-01-02T04:04:05Z"},
		"TheLastOfTheQuota":   {deliveries.Sending, soon, channels.Condition{UsedUp: soon}, deliveries.Waiting{For: deliveries.ForAnswer}, "a worker, which is sending it or is about to"},
		"QuotaOfYesterday":    {deliveries.Pending, before, channels.Condition{UsedUp: before}, deliveries.Waiting{For: deliveries.ForWorker}, "its turn"},
		"DownAndQuotaUsedUp": {deliveries.Pending, before, downAndSpent, deliveries.Waiting{For: deliveries.ForChannel, Since: before, Until: later, Error: "connection refused"},
			"the channel to work again, which has failed since 2026-01-02T03:03:05Z: connection refused; next attempt at 2026-01-02T04:04:05Z"},
		"ProviderAskedAndQuotaUsedUp": {deliveries.Pending, before, askedAndSpent, deliveries.Waiting{For: deliveries.ForQuota, Until: later}, "the channel, whose quota is used up until 2026-01-02T04:04:05Z"},
		"ChannelInactive": {deliveries.Pending, soon, inactive, deliveries.Waiting{For: deliveries.ForChannel, Others: true, Until: soon},
			"another channel of the pool, because its own is inactive; next attempt at 2026-01-02T03:05:05Z"},
		"ChannelInactiveAndDue":     {deliveries.Pending, before, channels.Condition{Inactive: true}, deliveries.Waiting{For: deliveries.ForWorker}, "its turn"},
		"ChannelInactiveAndSending": {deliveries.Sending, soon, inactive, deliveries.Waiting{For: deliveries.ForAnswer}, "a worker, which is sending it or is about to"},
		"Sent":                      {deliveries.Sent, before, down, deliveries.Waiting{}, ""},
		"Failed":                    {deliveries.Failed, before, down, deliveries.Waiting{}, ""},
		"Skipped":                   {deliveries.Skipped, time.Time{}, limited, deliveries.Waiting{}, ""},
	} {
		got := deliveries.Delivery{State: c.state, Next: c.next}.WaitsFor(c.of, now)
		assert.Equal(t, c.want, got, name)
		assert.Equal(t, c.said, got.String(), name)
		assert.False(t, got.Until.Before(now) && !got.Until.IsZero(), "%s: no next attempt is in the past", name)
		if got.For != "" {
			seen[got.For] = true
		}
	}
	for _, cause := range deliveries.Causes() {
		assert.True(t, seen[cause], cause)
		require.NotEmpty(t, deliveries.Waiting{For: cause}.Words())
	}
}

func TestStopped(t *testing.T) {
	t.Parallel()
	for _, cause := range deliveries.Causes() {
		want := deliveries.Waiting{For: deliveries.ForRelease}
		if cause == deliveries.ForAnswer {
			want.For = cause // Its attempt may be under way.
		}
		assert.Equal(t, want, deliveries.Waiting{For: cause}.Stopped())
	}
	assert.Equal(t, deliveries.Waiting{For: deliveries.ForRelease}, deliveries.Waiting{For: deliveries.ForAttempt, Until: time.Unix(1, 0)}.Stopped())
	assert.Zero(t, deliveries.Waiting{}.Stopped())
	assert.Equal(t, "sending, which is stopped in the whole installation", deliveries.Waiting{For: deliveries.ForRelease}.String())
}

func TestBehind(t *testing.T) {
	t.Parallel()
	limited := deliveries.Waiting{For: deliveries.ForWorker, PerSecond: 5}
	assert.Equal(t, limited, limited.Behind(0), "nothing shows that the limit is reached")
	behind := limited.Behind(1)
	assert.Equal(t, deliveries.Waiting{For: deliveries.ForLimit, PerSecond: 5}, behind)
	assert.Equal(t, "the channel, which sends at most 5 a second", behind.String())
	for _, w := range []deliveries.Waiting{{For: deliveries.ForWorker}, {For: deliveries.ForAnswer}, {For: deliveries.ForLimit, Until: time.Unix(1, 0)}} {
		assert.Equal(t, w, w.Behind(1))
	}
}

func TestFate(t *testing.T) {
	t.Parallel()
	c := heard()
	c.Assignment.ID = 7
	made := func(s deliveries.State) []deliveries.Delivery {
		d := deliveries.Delivery{Notification: c.Notification.ID, Assignment: 7, State: s, LastError: "550", Reason: deliveries.OptedOut}
		d.Waiting = d.WaitsFor(channels.Condition{}, time.Now())
		other := d
		other.Assignment, other.State = 8, deliveries.Sent
		return []deliveries.Delivery{other, d}
	}
	for s, want := range map[deliveries.State]string{deliveries.Pending: "it waits for its turn", deliveries.Sent: "it was sent", deliveries.Failed: "it failed: 550", deliveries.Skipped: "it was skipped: " + string(deliveries.OptedOut)} {
		words, delivered := c.Outcome(made(s))
		assert.Equal(t, want, words)
		assert.True(t, delivered)
	}
	words, _ := c.Outcome(nil)
	assert.Equal(t, "nothing is blocking it", words)
	c.Notification.Active = false
	words, delivered := c.Outcome(made(deliveries.Pending))
	assert.Equal(t, "it waits for its turn", words, "it was checked before the delivery was made")
	assert.True(t, delivered)
	words, _ = c.Outcome(made(deliveries.Skipped))
	assert.Equal(t, "it was skipped: "+string(deliveries.OptedOut), words)
	c.Notification.Active, c.Gates.MemberLocked = true, true
	words, delivered = c.Outcome(made(deliveries.Pending))
	assert.Equal(t, string(deliveries.MemberLocked), words, "it will be skipped")
	assert.False(t, delivered)
}

func TestRate(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	now := begin.Add(time.Hour)
	lately := func(ago time.Duration, n int) deliveries.Throughput {
		return deliveries.Throughput{Since: now.Add(-ago), Ended: n}
	}
	for name, c := range map[string]struct {
		sendAt time.Time
		counts map[deliveries.State]int
		recent []deliveries.Throughput
		want   float64
	}{
		"OnAverage":                 {counts: map[deliveries.State]int{deliveries.Sent: 3000, deliveries.Failed: 600, deliveries.Skipped: 99, deliveries.Pending: 1}, want: 1},
		"FromTheMomentItIsToBeSent": {sendAt: begin.Add(30 * time.Minute), counts: map[deliveries.State]int{deliveries.Sent: 3600}, want: 2},
		"Recently":                  {counts: map[deliveries.State]int{deliveries.Sent: 3600}, recent: []deliveries.Throughput{lately(time.Minute, 300), lately(2*time.Minute, 600)}, want: 10},
		"RecentlyNone":              {counts: map[deliveries.State]int{deliveries.Sent: 3600}, recent: []deliveries.Throughput{lately(0, 0)}, want: 1},
		"WithinASecond":             {counts: map[deliveries.State]int{deliveries.Sent: 3600}, recent: []deliveries.Throughput{lately(-time.Minute, 30)}, want: 30},
		"BeforeItBegins":            {sendAt: now},
		"BeforeTheFirst":            {counts: map[deliveries.State]int{deliveries.Pending: 100}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := events.Occurrence{Created: begin, Options: events.Options{SendAt: c.sendAt}}
			assert.InDelta(t, c.want, deliveries.Rate(o, c.counts, c.recent, now), 0)
		})
	}
}

func TestExpectedEnd(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	type counts = map[deliveries.State]int
	for name, c := range map[string]struct {
		counts    counts
		perSecond float64
		again     time.Time
		expires   time.Time
		want      time.Time
	}{
		"TriedAgainLater":   {counts: counts{deliveries.Sent: 9_999, deliveries.Retrying: 1}, perSecond: 100, again: now.Add(time.Hour), want: now.Add(time.Hour)},
		"TriedAgainEarlier": {counts: counts{deliveries.Pending: 119, deliveries.Retrying: 1}, perSecond: 2, again: now.Add(time.Second), want: now.Add(time.Minute)},
		"ExpiresBefore":     {counts: counts{deliveries.Pending: 120}, perSecond: 2, expires: now.Add(time.Second), want: now.Add(time.Second)},
		"ExpiresBeforeTheNextAttempt": {counts: counts{deliveries.Retrying: 1}, perSecond: 2, again: now.Add(time.Hour), expires: now.Add(time.Minute),
			want: now.Add(time.Minute)},
		"HasExpired":   {counts: counts{deliveries.Sending: 120}, perSecond: 2, expires: now.Add(-time.Minute)},
		"ExpiresLater": {counts: counts{deliveries.Pending: 120}, perSecond: 2, expires: now.Add(time.Hour), want: now.Add(time.Minute)},
		"AllOpenOnes":  {counts: counts{deliveries.Sent: 50, deliveries.Skipped: 10, deliveries.Pending: 100, deliveries.Retrying: 19, deliveries.Sending: 1}, perSecond: 2, want: now.Add(time.Minute)},
		"UnknownRate":  {counts: counts{deliveries.Pending: 100}},
		"NoneOpen":     {counts: counts{deliveries.Sent: 100}, perSecond: 1},
		"InManyYears":  {counts: counts{deliveries.Pending: 1_000_000}, perSecond: 0.000_001},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, c.want, deliveries.ExpectedEnd(events.Occurrence{Options: events.Options{ExpiresAt: c.expires}}, c.counts, c.perSecond, c.again, now))
		})
	}
}
