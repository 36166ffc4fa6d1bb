package shoutrrr

import (
	"crypto/sha256"
	"net/url"
	"sync"
)

// maxAccepted is the maximum number of messages that a driver remembers.
const maxAccepted = 10_000

// messageKey identifies a message with its text, and the URL that it goes to. It is the same on
// every attempt, unless the template has changed.
type messageKey [sha256.Size]byte

func keyOf(link *url.URL, n note) messageKey {
	return sha256.Sum256([]byte(n.id + "\x00" + link.String() + "\x00" + n.title + "\x00" + n.text))
}

// accepted remembers how many requests of a message a service accepted before one failed. It
// belongs to the driver, because a dispatcher may be closed between two attempts.
type accepted struct {
	limit    int // messages
	mu       sync.Mutex
	requests map[messageKey]int
}

func newAccepted(limit int) *accepted { return &accepted{limit: limit, requests: map[messageKey]int{}} }

// of returns the number of requests that were accepted in earlier attempts.
func (a *accepted) of(key messageKey) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.requests[key]
}

// set remembers the number of accepted requests. If there are too many messages, it forgets any
// other one.
func (a *accepted) set(key messageKey, requests int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, known := a.requests[key]; !known && len(a.requests) >= a.limit {
		for other := range a.requests {
			delete(a.requests, other)
			break
		}
	}
	a.requests[key] = requests
}

func (a *accepted) forget(key messageKey) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.requests, key)
}
