package batch

// Idle reports whether the batcher has released everything of earlier calls.
func (b *Batcher[K, C]) Idle() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.queues) == 0
}
