package watchdog

import (
	"sync"
	"time"
)

// post is where a loop is watched, whichever run of it is the present one.
type post struct {
	dog  *Watchdog
	name string

	mu       sync.Mutex
	present  *Loop
	patience time.Duration
	turned   time.Time
	still    bool
	anew     int
}

// Loop is how one run of a loop says that it turns. A run that was given up says nothing any more.
type Loop struct {
	post  *post
	still chan struct{} // closed when it stands still

	// guarded by post.mu
	turns int
	timer *time.Timer
}

// begin begins a run of the loop, the first one or another in the place of one that stands still.
func (p *post) begin() *Loop {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := &Loop{post: p, still: make(chan struct{})}
	switch before := p.present; {
	case before == nil:
	case before.turns > 1:
		p.anew, p.patience = p.anew+1, Patience
	default:
		p.anew, p.patience = p.anew+1, min(2*p.patience, patienceMost)
	}
	p.present = l
	l.expect(p.patience, l.doubt)
	return l
}

// Turn says that a turn begins, and the one before has ended.
func (l *Loop) Turn() { l.turn(l.post.dog.clock.Now(), 0, true) }

// Rest says that a turn has ended, and that the next one begins after so long.
func (l *Loop) Rest(pause time.Duration) { l.turn(l.post.dog.clock.Now(), pause, true) }

// Idle says that a turn has ended, and that the next one begins when there is something to do.
func (l *Loop) Idle() { l.turn(l.post.dog.clock.Now(), 0, false) }

// End says that the loop has ended. Only a loop that the watchdog does not run says so itself.
func (l *Loop) End() { l.post.dog.forget(l.post) }

func (l *Loop) turn(now time.Time, pause time.Duration, expected bool) {
	p := l.post
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.present != l {
		return
	}
	// A run that was begun in the place of another has to end a turn: to begin one, the other was
	// able, too.
	if l.turns++; p.still && (p.anew == 0 || l.turns > 1) {
		p.still = false
		p.dog.log.Info("a background loop turns again", "loop", p.name)
	}
	if !p.still {
		p.turned = now
	}
	l.timer.Stop()
	if expected {
		l.expect(pause+p.patience, l.doubt)
	}
}

// expect has the loop say something before the time is over. The caller holds the lock.
func (l *Loop) expect(limit time.Duration, otherwise func()) {
	var timer *time.Timer
	armed := make(chan struct{})
	timer = time.AfterFunc(limit, func() {
		<-armed
		l.post.mu.Lock()
		defer l.post.mu.Unlock()
		if l.timer == timer && l.post.present == l {
			otherwise()
		}
	})
	l.timer = timer
	close(armed)
}

// doubt gives a loop that seems to stand still the time to prove that it does not.
func (l *Loop) doubt() { l.expect(confirmation, l.accuse) }

// accuse says that the loop stands still.
func (l *Loop) accuse() {
	p := l.post
	p.still = true
	p.dog.log.Error("a background loop stands still", "loop", p.name, "since", p.turned.UTC(), "started_anew", p.anew)
	select {
	case <-l.still: // It has stood still before.
	default:
		close(l.still)
	}
}

func (p *post) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.present.timer.Stop()
	p.present = nil
}

func (p *post) state() State {
	p.mu.Lock()
	defer p.mu.Unlock()
	return State{Name: p.name, Turned: p.turned, Still: p.still, Anew: p.anew}
}
