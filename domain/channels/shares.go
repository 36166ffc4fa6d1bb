package channels

// Share is the part of a channel's limits that an instance has: those that send through the channel
// at the same time have equal parts.
type Share struct {
	Holders int // how many instances share, this one included
	// Begun is whether all others know of this one, and so have made room for it.
	Begun bool
}

// Of is the part of a limit; 0: nothing yet.
func (s Share) Of(limit float64) float64 {
	if !s.Begun || s.Holders < 1 {
		return 0
	}
	return limit / float64(s.Holders)
}
