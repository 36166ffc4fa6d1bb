package app

// WithKeysPerPass makes imports survey files in passes of n keys, so that a test needs no file of millions of rows.
func (i *Imports) WithKeysPerPass(n int) *Imports {
	i.keysPerPass = n
	return i
}
