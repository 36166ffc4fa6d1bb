package console

// paged cuts what was read down to a page of this size. Whoever reads one more than that learns
// whether there is a next page: next is the id of the last thing on this one then, else 0.
func paged[T any, ID ~int64](found []T, size int, id func(T) ID) (page []T, next ID) {
	if len(found) <= size {
		return found, 0
	}
	return found[:size], id(found[size-1])
}
