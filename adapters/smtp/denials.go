package smtp

import (
	"hash/maphash"
	"sync"
)

// maxDenied is the maximum number of recipients that denials remember. An entry takes some 40
// bytes.
const maxDenied = 100_000

// denials are the denials at one step of the session. Recipients are remembered by hashes: the
// addresses of a long list would take much memory.
type denials struct {
	limit int // recipients
	seed  maphash.Seed

	mu      sync.Mutex
	counted int            // the recipients that were denied so far; each has its number
	settled int            // up to this number, others were accepted since
	first   map[uint64]int // by recipient, its number
	order   []uint64       // the recipients; number n is at n-1 modulo limit
}

func newDenials(limit int) *denials {
	return &denials{limit: limit, seed: maphash.MakeSeed(), first: map[uint64]int{}}
}

// count returns how many recipients were denied so far.
func (d *denials) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.counted
}

// accepted records that a message to a recipient was accepted that began after so many denials. The
// recipient was not to blame for an earlier denial.
func (d *denials) accepted(to string, before int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.settled = max(d.settled, before)
	delete(d.first, maphash.String(d.seed, to))
}

// isForAll records that the server denied a recipient. It reports whether the denial counts as one
// of all recipients. When there are too many, the recipient that was denied first is forgotten.
func (d *denials) isForAll(to string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	key := maphash.String(d.seed, to)
	if number, before := d.first[key]; before {
		return number > d.settled
	}
	d.counted++
	d.first[key] = d.counted
	if len(d.order) < d.limit {
		d.order = append(d.order, key)
		return true
	}
	oldest := &d.order[(d.counted-1)%d.limit]
	if d.first[*oldest] == d.counted-d.limit { // It may have been accepted, and denied again later.
		delete(d.first, *oldest)
	}
	*oldest = key
	return true
}
