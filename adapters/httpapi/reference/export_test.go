package reference

// Asset returns an asset of the page by name; ok is false when there is none.
func (r *Reference) Asset(name string) (a Asset, ok bool) {
	a, ok = r.assets[name]
	return a, ok
}
