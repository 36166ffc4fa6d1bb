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

// get returns the value of a key. A new one is made outside the lock.
func (c *onceCache[K, V]) get(key K, size int, with func() (V, error)) (V, error) {
	c.mu.Lock()
	known, ok := c.made[key]
	if !ok {
		known = sizedValue[V]{sync.OnceValues(with), size}
		c.put(key, known)
	}
	c.mu.Unlock()
	return known.get()
}

// resize sets the size of a value, when that is known only after it was made.
func (c *onceCache[K, V]) resize(key K, size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.made[key]; ok {
		c.put(key, sizedValue[V]{known.get, size})
	}
}

// put stores a value in place of as many others, chosen at random, as it needs. The caller holds
// the lock.
func (c *onceCache[K, V]) put(key K, value sizedValue[V]) {
	c.size += value.size - c.made[key].size
	c.made[key] = value
	for other, o := range c.made {
		if len(c.made) <= c.most && (c.mostSize == 0 || c.size <= c.mostSize) {
			break
		}
		if other != key {
			delete(c.made, other)
			c.size -= o.size
		}
	}
}
