package console

// paged truncates found to the size of a page. The caller reads one item more than that. next is
// the id of the last item on the page, or 0 if there is no next page.
func paged[T any, ID ~int64](found []T, size int, id func(T) ID) (page []T, next ID) {
	if len(found) <= size {
		return found, 0
	}
	return found[:size], id(found[size-1])
}
