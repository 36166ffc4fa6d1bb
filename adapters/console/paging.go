package console

// paged cuts found down to a page of this size. If the caller has read one more than that, next is
// the id of the last item on this page, else 0: there is no next page.
func paged[T any, ID ~int64](found []T, size int, id func(T) ID) (page []T, next ID) {
	if len(found) <= size {
		return found, 0
	}
	return found[:size], id(found[size-1])
}
