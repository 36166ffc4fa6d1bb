package delivery

import "sync"

// onceCache keeps values that are made once for each key. Making one holds up only those who ask
// for the same key. It is safe for concurrent use.
type onceCache[K comparable, V any] struct {
	most     int // values
	mostSize int // of all values; 0: any

	mu   sync.Mutex
	made map[K]sizedValue[V]
	size int
}

type sizedValue[V any] struct {
	get  func() (V, error)
	size int
}

func newOnceCache[K comparable, V any](most, mostSize int) *onceCache[K, V] {
	return &onceCache[K, V]{most: most, mostSize: mostSize, made: map[K]sizedValue[V]{}}
}

// get returns the value of a key. A new one is made outside the lock, and takes the place of as
// many others, chosen at random, as it needs.
func (c *onceCache[K, V]) get(key K, size int, with func() (V, error)) (V, error) {
	c.mu.Lock()
	known, ok := c.made[key]
	if !ok {
		for other, o := range c.made {
			if len(c.made) < c.most && (c.mostSize == 0 || c.size+size <= c.mostSize) {
				break
			}
			delete(c.made, other)
			c.size -= o.size
		}
		known = sizedValue[V]{sync.OnceValues(with), size}
		c.made[key] = known
		c.size += size
	}
	c.mu.Unlock()
	return known.get()
}
