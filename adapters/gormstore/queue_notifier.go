package gormstore

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// The pauses before the notifier connects again to listen to other instances.
const (
	listenPause        = 100 * time.Millisecond
	listenPauseLongest = 5 * time.Second
)

// notifier says that there may be new work: to workers of this process at once, and to other
// instances through the database. A notification that is lost costs only time, because workers also
// poll; the rows are the truth.
//
// Other instances are notified after the commit, not within the transaction: Postgres commits
// transactions that notify one after another, each with a flush of its own, and triggers would
// queue up behind each other. Notifications that come while one is on its way become one.
type notifier struct {
	local  chan struct{} // received by whoever waits for work in this process
	remote chan struct{} // to be passed on to other instances
	engine engine
	logger *slog.Logger

	listenOnce sync.Once
	notifyOnce sync.Once
	ctx        context.Context    //nolint:containedctx // It ends with the store, like what runs below it.
	end        context.CancelFunc // ends listening
	listening  sync.WaitGroup
	notifying  sync.WaitGroup
}

func newNotifier(e engine, logger *slog.Logger) *notifier {
	n := &notifier{local: make(chan struct{}, 1), remote: make(chan struct{}, 1), engine: e, logger: logger}
	n.ctx, n.end = context.WithCancel(context.Background())
	return n
}

// notify notifies everybody.
func (n *notifier) notify() {
	signal(n.local)
	n.notifyOnce.Do(func() { n.notifying.Go(n.notifyOthers) })
	signal(n.remote)
}

// signal wakes whoever waits on c, now or next.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default: // A signal is pending already.
	}
}

// notifyOthers passes notifications on to other instances until the notifier is closed.
func (n *notifier) notifyOthers() {
	for range n.remote {
		ctx, cancel := context.WithTimeout(context.Background(), connectTimeout)
		if err := n.engine.notify(ctx); err != nil {
			n.logger.Warn("other instances were not notified of new work", "error", err)
		}
		cancel()
	}
}

// listen begins to receive the notifications of other instances. Commands that only read never call
// it, and need no connection for it.
func (n *notifier) listen() {
	n.listenOnce.Do(func() { n.listening.Go(n.listenToOthers) })
}

func (n *notifier) listenToOthers() {
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
		wait = min(2*wait, listenPauseLongest)
	}
}

// close passes on what is pending, and ends. Nobody calls notify or listen any more.
func (n *notifier) close() {
	n.end()
	close(n.remote)
	n.notifying.Wait()
	n.listening.Wait()
}
