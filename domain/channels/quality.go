package channels

import (
	"math"
	"time"
)

// The weight of a member that fails or answers slowly.
const (
	qualityHalf   = 20 * time.Second // at this age an attempt counts half
	qualityMost   = 200              // at most so many attempts count
	qualityProof  = 10               // with so many attempts the quality is half certain
	qualityFaults = 0.05             // of the attempts may fail
	qualitySlower = 3                // the answers may take so many times those of the quickest other member,
	qualitySpared = time.Second / 2  // or so much longer
	qualityLeast  = 0.02             // of its weight, in any case
)

// Quality is how well a member has answered lately: how many attempts failed through its own fault,
// and how long the others took. The older an attempt is, the less it counts.
type Quality struct {
	At       time.Time // the time of the figures below
	Attempts float64
	Faults   float64
	Took     float64 // seconds, of answered attempts
}

// aged returns the quality at a later time.
func (q Quality) aged(now time.Time) Quality {
	if old := now.Sub(q.At); old > 0 {
		part := math.Exp2(-old.Seconds() / qualityHalf.Seconds())
		q.Attempts, q.Faults, q.Took, q.At = q.Attempts*part, q.Faults*part, q.Took*part, now
	}
	return q
}

// With returns the quality after another attempt.
func (q Quality) With(fault bool, took time.Duration, now time.Time) Quality {
	q = q.aged(now)
	q.Attempts++
	if fault {
		q.Faults++
	} else {
		q.Took += took.Seconds()
	}
	if part := qualityMost / q.Attempts; part < 1 {
		q.Attempts, q.Faults, q.Took = q.Attempts*part, q.Faults*part, q.Took*part
	}
	return q
}

// sure returns how much the quality may change, from 0 to 1: little after a few attempts, and less
// and less as time passes.
func (q Quality) sure() float64 { return q.Attempts / (q.Attempts + qualityProof) }

// answers returns how many seconds an answer takes; 0: unknown.
func (q Quality) answers() float64 {
	if answered := q.Attempts - q.Faults; answered > 0 {
		return q.Took / answered
	}
	return 0
}

// factor returns the part of its weight that a member keeps, beside one that answers in quickest
// seconds (0: unknown).
func (q Quality) factor(quickest float64) float64 {
	if q.Attempts == 0 {
		return 1
	}
	part := 1.0
	if faults := q.Faults / q.Attempts; faults > qualityFaults {
		part = (1 - faults) / (1 - qualityFaults)
	}
	if may := max(qualitySlower*quickest, quickest+qualitySpared.Seconds()); quickest > 0 && q.answers() > may {
		part *= may / q.answers()
	}
	return max(qualityLeast, 1-(1-part)*q.sure())
}

// kept returns the part of its weight that each member keeps by its quality.
func kept(members []Member, now time.Time) []float64 {
	all := make([]Quality, len(members))
	for i, m := range members {
		all[i] = m.Quality.aged(now)
	}
	parts := make([]float64, len(members))
	for i, q := range all {
		quickest := 0.0
		for j, other := range all {
			known := j != i && members[j].share(now) > 0 && other.sure() >= 0.3
			if took := other.answers(); known && took > 0 && (quickest == 0 || took < quickest) {
				quickest = took
			}
		}
		parts[i] = q.factor(quickest)
	}
	return parts
}
