package gormstore

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// The first and the longest pause before the notifier reconnects to listen.
const (
	listenPause    = 100 * time.Millisecond
	maxListenPause = 5 * time.Second
)

// notifier announces new work: to workers of this process at once, and to other instances through
// the database. A lost notification only delays work, because workers also poll.
//
// It notifies other instances after the commit, not within the transaction: Postgres serializes the
// commits of transactions that notify, each with its own flush. Notifications that arrive while one
// is being sent are merged into one.
type notifier struct {
	local  chan struct{} // received by waiting workers of this process
	remote chan struct{} // to be sent to other instances
	engine engine
	logger *slog.Logger

	listenOnce sync.Once
	notifyOnce sync.Once
	ctx        context.Context    //nolint:containedctx // It ends with the store, like the goroutines under it.
	end        context.CancelFunc // ends listening
	listening  sync.WaitGroup
	notifying  sync.WaitGroup
}

func newNotifier(e engine, logger *slog.Logger) *notifier {
	n := &notifier{local: make(chan struct{}, 1), remote: make(chan struct{}, 1), engine: e, logger: logger}
	n.ctx, n.end = context.WithCancel(context.Background())
	return n
}

// notify notifies all workers.
func (n *notifier) notify() {
	signal(n.local)
	n.notifyRemote()
}

// notifyRemote notifies the workers of other instances.
func (n *notifier) notifyRemote() {
	n.notifyOnce.Do(func() { n.notifying.Go(n.sendNotifications) })
	signal(n.remote)
}

// signal wakes the receiver of c, now or at its next wait.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default: // A signal is already pending.
	}
}

// sendNotifications sends notifications to other instances until the notifier is closed.
func (n *notifier) sendNotifications() {
	for range n.remote {
		ctx, cancel := context.WithTimeout(context.Background(), connectTimeout)
		if err := n.engine.notify(ctx); err != nil {
			n.logger.Warn("other instances were not notified of new work", "error", err)
		}
		cancel()
	}
}

// listen starts to receive the notifications of other instances. Read-only commands do not call it,
// and need no connection for it.
func (n *notifier) listen() {
	n.listenOnce.Do(func() { n.listening.Go(n.receiveNotifications) })
}

func (n *notifier) receiveNotifications() {
	wait := listenPause
	for n.ctx.Err() == nil {
		err := n.engine.listen(n.ctx, func() {
			wait = listenPause
			signal(n.local)
		})
		if err == nil || n.ctx.Err() != nil {
			return
		}
		n.logger.Warn("the notifications of other instances cannot be received", "error", err)
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-n.ctx.Done():
			timer.Stop()
		}
		wait = min(2*wait, maxListenPause)
	}
}

// close sends pending notifications and stops the notifier. notify and listen must not be called
// after it.
func (n *notifier) close() {
	n.end()
	close(n.remote)
	n.notifying.Wait()
	n.listening.Wait()
}
