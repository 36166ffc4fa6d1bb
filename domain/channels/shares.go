package channels

// Share is the part of a channel's limits that an instance has: those that send through the channel
// at the same time have equal parts.
type Share struct {
	Holders int // how many instances share, this one included
	// Begun is whether all others know of this one, and so have made room for it.
	Begun bool
	// Places is how many attempts the instance may have under way at once, if that is shared.
	Places int
}

// Places is what an instance asks for that shares how many attempts are under way at once.
type Places struct {
	All  int // how many all instances may have; 0: that is not shared
	Held int // how many the instance may have until it knows better, or has
}

// Part is how many places an instance gets that came after so many of all who share, where the
// others may have so many: equal parts, and those that are left over go to who came first. Where
// there are fewer than instances, who came last gets none.
func (p Places) Part(before, holders, others int) int {
	fair := (p.All - before + holders - 1) / holders
	return max(0, min(fair, p.All-others))
}

// Of is the part of a limit; 0: nothing yet.
func (s Share) Of(limit float64) float64 {
	if !s.Begun || s.Holders < 1 {
		return 0
	}
	return limit / float64(s.Holders)
}
