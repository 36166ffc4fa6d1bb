package channels

import (
	"math"
	"time"
)

// The weight of a member that fails or answers slowly.
const (
	qualityHalfLife      = 20 * time.Second // at this age an attempt counts half
	qualityMaxAttempts   = 200              // the largest number of attempts that count
	qualityPrior         = 10               // at this number of attempts the confidence is one half
	qualityFaultsAllowed = 0.05             // of the attempts may fail
	qualityMaxSlowdown   = 3                // answers may take this many times the quickest ones,
	qualityDelayAllowed  = time.Second / 2  // or this much longer
	qualityMinFactor     = 0.02             // of its weight, in any case
	qualityReduced       = 0.95             // a member that keeps less of its weight counts as reduced
)

// QualityExpiry is how long after the last attempt a quality is valid.
const QualityExpiry = 10 * time.Minute

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
		part := math.Exp2(-old.Seconds() / qualityHalfLife.Seconds())
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
	if part := qualityMaxAttempts / q.Attempts; part < 1 {
		q.Attempts, q.Faults, q.Took = q.Attempts*part, q.Faults*part, q.Took*part
	}
	return q
}

// confidence returns how much the quality may influence the weight, from 0 to 1: little after a few
// attempts, and less and less as time passes.
func (q Quality) confidence() float64 { return q.Attempts / (q.Attempts + qualityPrior) }

// responseTime returns how many seconds an answer takes; 0: unknown.
func (q Quality) responseTime() float64 {
	if answered := q.Attempts - q.Faults; answered > 0 {
		return q.Took / answered
	}
	return 0
}

// factor returns the part of its weight that a member keeps, compared with one that answers in
// quickest seconds (0: unknown).
func (q Quality) factor(quickest float64) float64 {
	if q.Attempts == 0 {
		return 1
	}
	part := 1.0
	if faults := q.Faults / q.Attempts; faults > qualityFaultsAllowed {
		part = (1 - faults) / (1 - qualityFaultsAllowed)
	}
	if may := max(qualityMaxSlowdown*quickest, quickest+qualityDelayAllowed.Seconds()); quickest > 0 && q.responseTime() > may {
		part *= may / q.responseTime()
	}
	return max(qualityMinFactor, 1-(1-part)*q.confidence())
}

// qualityFactors returns the part of its weight that each member keeps by its quality.
func qualityFactors(members []Member, now time.Time) []float64 {
	all := make([]Quality, len(members))
	for i, m := range members {
		all[i] = m.Quality.aged(now)
	}
	parts := make([]float64, len(members))
	for i, q := range all {
		quickest := 0.0
		for j, other := range all {
			known := j != i && members[j].share(now) > 0 && other.confidence() >= 0.3
			if took := other.responseTime(); known && took > 0 && (quickest == 0 || took < quickest) {
				quickest = took
			}
		}
		parts[i] = q.factor(quickest)
	}
	return parts
}
