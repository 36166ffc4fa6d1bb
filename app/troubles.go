package app

import (
	"context"
	"time"

	"github.com/tocsin/tocsin/domain/channels"
)

// word is what a lane has last told the store of its channel.
type word struct {
	works bool
	until time.Time // of the rest that was told; zero: none
}

// tellPatience bounds how long a word may take. It is no message: what cannot be told now is told with the next change.
const (
	tellPatience = 5 * time.Second
	tellPause    = 30 * time.Second // when the store did not take one
)

// tell notes in the store when the channel begins to rest or rests anew, and withdraws that when it works: after a rest, and with the first
// message through what was just opened, because an earlier process may have left its word behind.
func (l *lane) tell(ctx context.Context) {
	l.telling.Lock()
	defer l.telling.Unlock()
	l.mu.Lock()
	b, failure := l.breaker, l.failure
	l.mu.Unlock()
	now := word{works: b.failures == 0, until: b.until}
	moment := l.worker.clock.Now()
	if now == l.told || moment.Before(l.silent) || b.failures > 0 && b.until.IsZero() { // Some failures in a row are no trouble yet.
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tellPatience)
	defer cancel()
	var err error
	if now.works {
		err = l.worker.queue.Untroubled(ctx, l.channel, l.worker.set.Instance)
	} else {
		err = l.worker.queue.Troubled(ctx, channels.Trouble{Channel: l.channel, Instance: l.worker.set.Instance,
			Since: b.since, Last: b.last, Until: b.until, Error: failure})
	}
	if err != nil {
		l.silent = moment.Add(tellPause)
		l.worker.log.Warn("how a channel does could not be noted", "channel", int64(l.channel), "error", err)
		return
	}
	l.told = now
}
