package delivery

import (
	"maps"
	"sync"
	"time"

	"github.com/tocsin/tocsin/domain/channels"
)

const (
	// certificateShown is how long the certificate that expires first is kept in favor of others:
	// several servers may have one name.
	certificateShown = time.Hour
	// certificateKept is how long a certificate is remembered that was not seen again.
	certificateKept = 7 * 24 * time.Hour
)

// certificates are the certificates of providers' servers. It is safe for concurrent use.
type certificates struct {
	mu        sync.Mutex
	byChannel map[channels.ID]certificate
}

// certificate is the one of a channel that expires first, of those seen lately.
type certificate struct {
	ends, seen time.Time
}

// record records the certificate of a server of a channel.
func (c *certificates) record(channel channels.ID, ends, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	had, known := c.byChannel[channel]
	if known && had.ends.Before(ends) && now.Sub(had.seen) < certificateShown {
		return
	}
	if !known {
		maps.DeleteFunc(c.byChannel, func(_ channels.ID, old certificate) bool { return now.Sub(old.seen) >= certificateKept })
	}
	c.byChannel[channel] = certificate{ends, now}
}

// Certificates returns when the certificate of each channel's provider expires; of several servers
// the first to expire. Channels without encryption are missing.
func (w *Worker) Certificates() map[channels.ID]time.Time {
	w.certificates.mu.Lock()
	defer w.certificates.mu.Unlock()
	now, ends := w.clock.Now(), map[channels.ID]time.Time{}
	for id, c := range w.certificates.byChannel {
		if now.Sub(c.seen) < certificateKept {
			ends[id] = c.ends
		}
	}
	return ends
}
