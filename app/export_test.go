package app

import "context"

// WithKeysPerPass makes imports survey files in passes of n keys, so that a test needs no file of millions of rows.
func (i *Imports) WithKeysPerPass(n int) *Imports {
	i.keysPerPass = n
	return i
}

const (
	MaxJoined   = maxJoined
	JoinWorkers = joinWorkers
)

// Call is a call that a Joiner joins with others.
type Call struct{ Subject, Answer string }

// Joiner joins calls into sets for serve.
type Joiner struct{ j *joiner[string, Call] }

func NewJoiner(serve func(ctx context.Context, key string, calls []*Call) error) Joiner {
	return Joiner{newJoiner(serve, func(c *Call) string { return c.Subject })}
}

func (j Joiner) Do(ctx context.Context, key string, c *Call) error { return j.j.do(ctx, key, c) }

// Idle tells whether the joiner keeps nothing of earlier calls.
func (j Joiner) Idle() bool {
	j.j.mu.Lock()
	defer j.j.mu.Unlock()
	return len(j.j.lines) == 0
}
