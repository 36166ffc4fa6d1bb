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

// WorkOnce does what a slot of an importer does once; it tells whether there was anything to do.
func (i *Importer) WorkOnce(ctx context.Context) bool {
	job, org, err := i.claim(ctx)
	if err == nil {
		i.work(ctx, job, org)
	}
	return err == nil
}

// SweepOnce removes what is no longer needed.
func (i *Importer) SweepOnce(ctx context.Context) error { return i.sweep(ctx) }

const PieceSize = pieceSize
