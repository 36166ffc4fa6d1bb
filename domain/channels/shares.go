package channels

// Concurrency is what an instance asks for if instances share the concurrent attempts of a channel.
type Concurrency struct {
	Limit int // how many all instances may have
	Held  int // how many the instance has, or may have by its last share
}

// Holder is an instance that shares the concurrent attempts of a channel.
type Holder struct {
	Owner       string
	Joined      int64 // the number of its first lease
	Concurrency int   // how many attempts it has, or may have
}

// Share returns how many attempts one instance among all may have. Instances have equal parts.
// Attempts that do not divide evenly go to the first ones, and no instance gets one that another
// may still use. If there are fewer attempts than instances, the last ones get none.
func (p Concurrency) Share(of string, all []Holder) int {
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
	}
	fair := (p.Limit - before + len(all) - 1) / len(all)
	return max(0, min(fair, p.Limit-others))
}
