package app

import "context"

// WithKeysPerPass makes imports survey files in passes of n keys, so that a test needs no file of millions of rows.
func (i *Imports) WithKeysPerPass(n int) *Imports {
	i.keysPerPass = n
	return i
}

// WorkOnce does what a slot of an importer does once; it reports whether there was anything to do.
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
