package importer

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/tocsin/tocsin/domain/imports"
	"github.com/tocsin/tocsin/ports"
)

const (
	// pieceSize is the size of a piece of a file, and all that is in memory of the file at a time.
	pieceSize = 256 << 10
	// clearPage is how many pieces are removed in one unit of work, so that others can write in
	// between.
	clearPage = 40
	// discardTimeout bounds how long the removal of a broken upload may take; the sweep removes the
	// rest.
	discardTimeout = 10 * time.Second
)

// files keeps the files of imports in the store, in pieces, so that every instance of the service
// can read them.
type files struct{ store ports.Store }

// take stores at most limit bytes from r and returns their number. Each piece is a unit of work of
// its own.
func (f files) take(ctx context.Context, id imports.ID, r io.Reader, limit int64) (size int64, err error) {
	piece := make([]byte, pieceSize)
	for number := 0; ; number++ {
		n, err := fill(piece, r)
		ended := errors.Is(err, io.EOF)
		if err != nil && !ended {
			return size, err
		}
		if size += int64(n); size > limit {
			return size, imports.ErrTooLarge.With("the file is larger than %d MiB", limit>>20)
		}
		if n > 0 {
			add := func(tx ports.Tx) error { return tx.Imports().AddPiece(ctx, id, number, piece[:n]) }
			if err := f.store.Update(ctx, add); err != nil {
				return size, err
			}
		}
		if ended {
			return size, nil
		}
	}
}

// fill reads until the piece is full or r ends. Unlike io.ReadFull it distinguishes the end of a
// file from a broken upload, whose reader returns io.ErrUnexpectedEOF.
func fill(piece []byte, r io.Reader) (n int, err error) {
	for n < len(piece) && err == nil {
		var more int
		more, err = r.Read(piece[n:])
		n += more
	}
	return n, err
}

// open returns the file from its beginning.
func (f files) open(ctx context.Context, id imports.ID) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) {
		return io.NopCloser(&pieces{files: f, ctx: ctx, id: id}), nil
	}
}

// pieces reads a file piece by piece.
type pieces struct {
	files files
	ctx   context.Context //nolint:containedctx // A reader has no other place for it.
	id    imports.ID
	next  int
	rest  []byte
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.rest) == 0 {
		err := p.files.store.View(p.ctx, func(tx ports.Tx) (err error) {
			p.rest, err = tx.Imports().Piece(p.ctx, p.id, p.next)
			return err
		})
		if errors.Is(err, imports.ErrNotFound) {
			return 0, io.EOF
		}
		if err != nil {
			return 0, err
		}
		p.next++
	}
	n := copy(b, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

// clear removes a file a few pieces at a time.
func (f files) clear(ctx context.Context, id imports.ID) error {
	for {
		gone, err := ports.Update(ctx, f.store, func(tx ports.Tx) (int, error) {
			return tx.Imports().RemovePieces(ctx, id, clearPage)
		})
		if err != nil || gone < clearPage {
			return err
		}
	}
}

// discard removes a job with its file.
func (f files) discard(ctx context.Context, id imports.ID) error {
	if err := f.clear(ctx, id); err != nil {
		return err
	}
	return f.store.Update(ctx, func(tx ports.Tx) error { return tx.Imports().Remove(ctx, id) })
}
