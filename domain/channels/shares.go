package channels

// Share is an instance's part of a channel's limits: the instances that send through the channel at
// the same time have equal parts.
type Share struct {
	Holders int // how many instances share, including this one
	// Begun is whether all others know this one, and so have reduced their own parts.
	Begun bool
	// Concurrency is how many concurrent attempts the instance may have, if they are shared.
	Concurrency int
}

// Concurrency is what an instance asks for if instances share the concurrent attempts.
type Concurrency struct {
	Limit int // how many all instances may have; 0: they are not shared
	Held  int // how many the instance has, or may have by its last share
}

// Holder is an instance that shares the limits of a channel.
type Holder struct {
	Owner           string
	Joined, Renewed int64 // joins and renewals share one sequence of numbers
	Concurrency     int   // how many attempts it has, or may have
}

// Share returns the part of one instance among all. Attempts that do not divide evenly go to the
// first ones, and no instance gets one that another may still use. If there are fewer attempts than
// instances, the last ones get none, and no part of a rate either.
func (p Concurrency) Share(of string, all []Holder) Share {
	share := Share{Holders: len(all), Begun: true}
	var mine Holder
	others, before := 0, 0
	for _, h := range all {
		if h.Owner == of {
			mine = h
		} else {
			others += h.Concurrency
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
	if p.Limit == 0 {
		return share
	}
	fair := (p.Limit - before + len(all) - 1) / len(all)
	share.Concurrency = max(0, min(fair, p.Limit-others))
	share.Holders = min(len(all), p.Limit)
	share.Begun = share.Begun && before < p.Limit
	return share
}

// Of returns the part of a limit; 0: nothing yet.
func (s Share) Of(limit float64) float64 {
	if !s.Begun || s.Holders < 1 {
		return 0
	}
	return limit / float64(s.Holders)
}
