package console

import (
	"strconv"

	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/domain/deliveries"
)

// share is a segment of the bar of delivery outcomes.
type share struct {
	Kind     words.Message // also a class of the style sheet
	Count    int
	X, Width string // in percent of the bar
}

// minShare is the minimum width of a segment in percent, so that small counts stay visible.
const minShare = 1.5

// sharesOf returns the shares of sent, waiting, failed and skipped deliveries, without empty ones.
func sharesOf(counts map[deliveries.State]int) []share {
	all := []share{
		{Kind: "sent", Count: counts[deliveries.Sent]},
		{Kind: "waiting", Count: counts[deliveries.Pending] + counts[deliveries.Sending] + counts[deliveries.Retrying]},
		{Kind: "failed", Count: counts[deliveries.Failed]},
		{Kind: "skipped", Count: counts[deliveries.Skipped]},
	}
	total, kinds := 0, 0
	for _, s := range all {
		if total += s.Count; s.Count > 0 {
			kinds++
		}
	}
	var some []share
	at := 0.0
	for _, s := range all {
		if s.Count == 0 {
			continue
		}
		wide := minShare + (100-minShare*float64(kinds))*float64(s.Count)/float64(total)
		s.X, s.Width = strconv.FormatFloat(at, 'f', 2, 64), strconv.FormatFloat(wide, 'f', 2, 64)
		at += wide
		some = append(some, s)
	}
	return some
}
