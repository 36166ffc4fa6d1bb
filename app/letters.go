package app

import (
	"context"
	"sync"

	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/subscriptions"
)

// rememberedLetters bounds the memory of a lane's letters, in bytes of their contexts and templates: one context may have a megabyte.
const rememberedLetters = 4 << 20

// letters remembers what many deliveries of a lane share, so that it is read once. It is safe for concurrent use.
type letters struct {
	queue deliveries.Queue

	mu    sync.Mutex
	known map[letterKey]deliveries.Letter
	size  int
}

type letterKey struct {
	occurrence   events.OccurrenceID
	notification subscriptions.NotificationID
	template     events.TemplateID
}

func newLetters(q deliveries.Queue) *letters {
	return &letters{queue: q, known: map[letterKey]deliveries.Letter{}}
}

// of returns what a job's message is made of. Those who want the same at once wait for one of them to read it.
func (l *letters) of(ctx context.Context, j deliveries.Job) (deliveries.Letter, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := letterKey{j.Occurrence, j.Notification, j.Template}
	if letter, known := l.known[key]; known {
		return letter, nil
	}
	letter, err := l.queue.Letter(ctx, j.Occurrence, j.Notification, j.Template)
	if err != nil {
		return deliveries.Letter{}, err
	}
	size := len(letter.Occurrence.Context) + len(letter.Template.Text) + len(letter.Template.HTML)
	if l.size+size > rememberedLetters {
		l.drop()
	}
	l.known[key] = letter
	l.size += size
	return letter, nil
}

// forget has everything be read anew.
func (l *letters) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drop()
}

func (l *letters) drop() {
	clear(l.known)
	l.size = 0
}
