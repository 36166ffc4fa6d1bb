package pace

import (
	"sync"
	"time"
)

// samplerWindow is the time for which a sampler counts.
const samplerWindow = time.Minute

// Sampler lets the first few events of each minute pass, such as lines of a log. It is safe for
// concurrent use.
type Sampler struct {
	most int

	mu     sync.Mutex
	begun  time.Time
	passed int
	held   int
}

// NewSampler returns a sampler that lets at most so many events a minute pass.
func NewSampler(most int) *Sampler { return &Sampler{most: most} }

// Pass reports whether the event may pass, and how many were held back since the last one that did.
func (s *Sampler) Pass(now time.Time) (pass bool, held int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.begun) >= samplerWindow {
		s.begun, s.passed = now, 0
	}
	if s.passed >= s.most {
		s.held++
		return false, 0
	}
	s.passed++
	held, s.held = s.held, 0
	return true, held
}

// Held returns how many events were held back since the last one that passed.
func (s *Sampler) Held() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held
}
