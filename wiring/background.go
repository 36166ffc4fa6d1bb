package wiring

import (
	"context"
	"sync"

	"github.com/tocsin/tocsin/app/delivery"
	"github.com/tocsin/tocsin/app/importer"
	"github.com/tocsin/tocsin/app/indexer"
)

// background is what a process does beside answering: it sends messages, runs imports and indexes
// people.
type background struct {
	Worker   *delivery.Worker
	Importer *importer.Importer
	Indexer  *indexer.Indexer
	Monitor  *monitor
	Reloader *reloader
}

// run works until ctx ends, then finishes what has begun.
func (b background) run(ctx context.Context) {
	var busy sync.WaitGroup
	busy.Go(func() { b.Importer.Run(ctx) })
	busy.Go(func() { b.Indexer.Run(ctx) })
	b.Worker.Run(ctx)
	busy.Wait()
}
