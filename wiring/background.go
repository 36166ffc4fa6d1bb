package wiring

import (
	"context"
	"sync"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/app/delivery"
	"github.com/tocsin/tocsin/app/importer"
	"github.com/tocsin/tocsin/app/indexer"
)

// background is the background work of a process: it sends messages, runs imports and indexes
// users.
type background struct {
	Worker   *delivery.Worker
	Importer *importer.Importer
	Indexer  *indexer.Indexer
	Monitor  *monitor
	Reloader *reloader
	Store    *gormstore.Store
}

// run works until ctx ends, and then finishes the work in progress.
func (b background) run(ctx context.Context) {
	var busy sync.WaitGroup
	busy.Go(func() { b.Importer.Run(ctx) })
	busy.Go(func() { b.Indexer.Run(ctx) })
	b.Worker.Run(ctx)
	busy.Wait()
}
