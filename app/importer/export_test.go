package importer

import (
	"context"

	"github.com/tocsin/tocsin/app/watchdog"
)

// WithKeysPerPass makes imports scan files in passes of n keys, so that a test needs no file with
// millions of rows.
func (i *Imports) WithKeysPerPass(n int) *Imports {
	i.keysPerPass = n
	return i
}

// WorkOnce runs one step of an importer's slot; it reports whether there was a job.
func (i *Importer) WorkOnce(ctx context.Context) bool {
	job, org, err := i.claim(ctx)
	if err == nil {
		i.watched(func(loop *watchdog.Loop) { i.work(ctx, job, org, loop) })
	}
	return err == nil
}

// SweepOnce runs one sweep.
func (i *Importer) SweepOnce(ctx context.Context) (err error) {
	i.watched(func(loop *watchdog.Loop) { err = i.sweep(ctx, loop) })
	return err
}

func (i *Importer) watched(once func(loop *watchdog.Loop)) {
	loop := i.set.Watchdog.Watch("once")
	defer loop.End()
	once(loop)
}

const (
	PieceSize = pieceSize
	Turn      = turnLength
)
