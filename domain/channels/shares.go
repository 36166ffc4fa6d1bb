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

// Holder is an instance that shares the limits of a channel.
type Holder struct {
	Owner           string
	Joined, Renewed int64 // Joining and renewing are numbered together.
	Places          int   // how many attempts it may have under way, or has
}

// Share is the part of an instance that is one of those who share. Places that do not divide evenly
// go to who came first, and nobody gets one that another may still use. Where there are fewer than
// instances, who came last gets none, and no part of a rate either.
func (p Places) Share(of string, all []Holder) Share {
	share := Share{Holders: len(all), Begun: true}
	var mine Holder
	others, before := 0, 0
	for _, h := range all {
		if h.Owner == of {
			mine = h
		} else {
			others += h.Places
		}
	}
	for _, h := range all {
		if h.Joined < mine.Joined {
			before++
		}
		if h.Owner != of && h.Renewed < mine.Joined {
			share.Begun = false
		}
	}
	if p.All == 0 {
		return share
	}
	fair := (p.All - before + len(all) - 1) / len(all)
	share.Places = max(0, min(fair, p.All-others))
	share.Holders = min(len(all), p.All)
	share.Begun = share.Begun && before < p.All
	return share
}

// Of is the part of a limit; 0: nothing yet.
func (s Share) Of(limit float64) float64 {
	if !s.Begun || s.Holders < 1 {
		return 0
	}
	return limit / float64(s.Holders)
}
