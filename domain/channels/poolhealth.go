package channels

import "time"

// MemberState is the state that decides a member's share of its pool's new messages.
type MemberState int

// The states of a member.
const (
	MemberWorks     MemberState = iota // it has its whole share
	MemberStandby                      // it has no weight, and is used when no other one works
	MemberInactive                     // it was made inactive
	MemberUsedUp                       // nothing is left of its quota
	MemberPaused                       // some instance pauses it, because its provider does not work
	MemberOnTrial                      // its pause has ended, and nothing has got through yet
	MemberReturning                    // it works again, and its share grows
	MemberReduced                      // it fails often or answers slowly, and has less than its share
)

// MemberHealth is a member of a pool with its state and its present share.
type MemberHealth struct {
	Member
	State MemberState
	Share float64 // of the pool's new messages, from 0 to 1
	// Measured reports whether this instance has had results of the member lately. The figures
	// below are of these.
	Measured     bool
	FailureRate  float64       // the part of the attempts that failed because of the member
	ResponseTime time.Duration // the mean time of an answer; 0: none came
}

// PoolHealth returns the members of a pool with their states and present shares.
func PoolHealth(members []Member, now time.Time) []MemberHealth {
	shares := map[ID]float64{}
	for _, r := range Ranges(members, 0, now) {
		shares[r.Channel] = float64(r.End-r.From) / HashRange
	}
	factors := qualityFactors(members, now)
	all := make([]MemberHealth, len(members))
	for i, m := range members {
		h := MemberHealth{Member: m, State: m.state(now), Share: shares[m.ID]}
		if h.State == MemberWorks && factors[i] < qualityReduced {
			h.State = MemberReduced
		}
		if q := m.Quality; q.Attempts > 0 && now.Sub(q.At) < QualityExpiry {
			h.Measured = true
			h.FailureRate = q.Faults / q.Attempts
			h.ResponseTime = time.Duration(q.responseTime() * float64(time.Second))
		}
		all[i] = h
	}
	return all
}
