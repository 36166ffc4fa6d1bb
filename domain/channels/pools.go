package channels

import (
	"time"

	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/names"
)

// A pool is the channels of one protocol of an organization, or of one project, that have the same
// Pool: a message to an address of any of them may go through each of them. The channel of the
// address's assignment decides about templates and events; their weights and health decide which of
// them sends.

// Limits of pools.
const (
	MaxPool       = 50    // characters of its name
	MaxWeight     = 1_000 // of a member
	DefaultWeight = 100
)

// The shares of a member that is not well.
const (
	// TrialFor is how long after its pause a member stays on trial without any answer. Then its
	// share grows, as that of one that works again.
	TrialFor = 2 * time.Minute
	// trialShare is the part of its weight that a member has while it is on trial.
	trialShare = 0.02
	// RampUpFor is how long a member that works again takes to get its full weight.
	RampUpFor = time.Minute
	// rampUpShare is the part of its weight at first.
	rampUpShare = 0.1
)

// ParsePool parses the name of a pool; empty: none.
func ParsePool(field, s string) (string, error) {
	if s == "" {
		return "", nil
	}
	if len(s) > MaxPool {
		return "", fault.Field(field, "is longer than %d characters", MaxPool)
	}
	return names.Slug(field, s)
}

// CheckWeight reports a wrong weight.
func CheckWeight(field string, weight int) error {
	if weight < 0 || weight > MaxWeight {
		return fault.Field(field, "must be a whole number from 0 to %d", MaxWeight)
	}
	return nil
}

// Join makes the channel a member of a pool with a weight; of none when its name is empty. It
// returns faults about `pool` and `weight`.
func (c *Channel) Join(pool string, weight int) error {
	var faults fault.Fields
	name, err := ParsePool("pool", pool)
	faults.Add("pool", err)
	faults.Add("weight", CheckWeight("weight", weight))
	c.Pool, c.Weight = name, weight
	return faults.Err()
}

// PoolReason is the reason why a channel of a pool takes a delivery.
type PoolReason int

// The reasons, as they are stored.
const (
	Assigned     PoolReason = iota // there is no other one
	ByWeight                       // by the weights of those that work
	NotWorking                     // the one for which it waited does not work
	LimitReached                   // the one for which it waited is at its limit
	Deactivated                    // the one for which it waited was made inactive
)

// String returns one word.
func (r PoolReason) String() string {
	switch r {
	case ByWeight:
		return "weight"
	case NotWorking:
		return "not working"
	case LimitReached:
		return "limit"
	case Deactivated:
		return "inactive"
	case Assigned:
	}
	return "only one"
}

// Member is a channel of a pool in its present state.
type Member struct {
	ID     ID
	Name   string
	Weight int
	Active bool
	// Until is when a pause of the member ends, or ended, if it does not work on some instance;
	// zero: it works.
	Until time.Time
	// UsedUp is until when nothing is left of its quota; zero: not used up.
	UsedUp time.Time
	// Recovered is when it began to work again; zero: it always did, or that is unknown.
	Recovered time.Time
	// Quality is how well it has answered lately, as measured by this instance.
	Quality Quality
}

// Paused reports whether its outage or its used-up quota forbids attempts now.
func (m Member) Paused(now time.Time) bool { return now.Before(m.Until) || now.Before(m.UsedUp) }

// recovered returns when the member began to work again: when an instance found that it works, when
// a new day or month of its quota began, or when the trial after a pause was over, if the instance
// that had paused it is gone.
func (m Member) recovered() time.Time {
	at := m.Recovered
	if m.UsedUp.After(at) {
		at = m.UsedUp
	}
	if tried := m.Until.Add(TrialFor); tried.After(at) {
		at = tried
	}
	return at
}

// state returns the state of the member without regard to its quality.
func (m Member) state(now time.Time) MemberState {
	switch {
	case !m.Active:
		return MemberInactive
	case now.Before(m.Until):
		return MemberPaused
	case now.Before(m.UsedUp):
		return MemberUsedUp
	case m.Weight == 0:
		return MemberStandby
	case now.Before(m.Until.Add(TrialFor)):
		return MemberOnTrial
	case now.Before(m.recovered().Add(RampUpFor)):
		return MemberReturning
	}
	return MemberWorks
}

// share returns its present weight.
func (m Member) share(now time.Time) float64 {
	weight := float64(m.Weight)
	switch m.state(now) {
	case MemberOnTrial:
		return weight * trialShare
	case MemberReturning:
		return weight * max(rampUpShare, now.Sub(m.recovered()).Seconds()/RampUpFor.Seconds())
	case MemberWorks, MemberReduced:
		return weight
	case MemberStandby, MemberInactive, MemberUsedUp, MemberPaused:
	}
	return 0
}

// Range is a member of a pool with its range of the hashes below [HashRange].
type Range struct {
	Channel   ID
	From, End int64 // End is not included
}

// HashRange is how many numbers there are to choose a member by. The other constants mix them: no
// sequence of ids gives a member more than its share.
const (
	HashRange   = 1 << 32
	HashFactorA = 2654435769
	HashFactorB = 1779033703
	HashMix     = 73244475
)

// Hash returns the number by which a delivery chooses a member. The numbers are evenly spread, and
// a delivery always has the same one.
func Hash(a, b int64) int64 {
	x := (a%(1<<31)*HashFactorA%HashRange + b%(1<<31)*HashFactorB%HashRange) % HashRange
	return (x ^ x>>16) * HashMix % HashRange
}

// Ranges divides the numbers among the working members of a pool by their weights and their
// quality, without one of them (0: with all). Members without a weight stand in when no other one
// works. It returns none when no member works.
func Ranges(members []Member, without ID, now time.Time) []Range {
	shares, parts, total := make([]float64, len(members)), qualityFactors(members, now), 0.0
	for _, ofSpare := range []bool{false, true} {
		for i, m := range members {
			switch {
			case m.ID == without:
				continue
			case !ofSpare:
				shares[i] = m.share(now) * parts[i]
			case m.state(now) == MemberStandby:
				shares[i] = 1
			}
			total += shares[i]
		}
		if total > 0 {
			break
		}
	}
	var ranges []Range
	sum, from := 0.0, int64(0)
	for i, m := range members {
		if shares[i] == 0 {
			continue
		}
		sum += shares[i]
		end := int64(sum / total * HashRange)
		ranges = append(ranges, Range{m.ID, from, end})
		from = end
	}
	if len(ranges) > 0 {
		ranges[len(ranges)-1].End = HashRange // despite rounding
	}
	return ranges
}

// Pick returns the member whose range contains a number; 0: none.
func Pick(ranges []Range, number int64) ID {
	for _, r := range ranges {
		if r.From <= number && number < r.End {
			return r.Channel
		}
	}
	return 0
}
