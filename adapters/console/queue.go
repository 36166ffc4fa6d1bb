package console

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/statistics"
)

// organizationQueue is the backlog of one organization's channels.
type organizationQueue struct {
	Slug   string
	Due    []words.Phrase // by priority, the highest first
	Oldest time.Time
}

// queueByOrganization sums the backlog by organization, the organization with the oldest message
// first.
func queueByOrganization(backlogs []statistics.Backlog) (all []organizationQueue) {
	of := map[string][]statistics.Backlog{}
	for _, b := range backlogs {
		of[b.Slug] = append(of[b.Slug], b)
	}
	for slug, own := range of {
		q := organizationQueue{Slug: slug, Oldest: slices.MinFunc(own, func(a, b statistics.Backlog) int { return a.Oldest.Compare(b.Oldest) }).Oldest}
		for _, p := range events.Priorities() {
			more := slices.ContainsFunc(own, func(b statistics.Backlog) bool { return app.QueueCounted(b.Class(p).Waiting) })
			q.Due = append(q.Due, atLeast(statistics.Due(own, p).Waiting, more))
		}
		all = append(all, q)
	}
	slices.SortFunc(all, func(a, b organizationQueue) int {
		return cmp.Or(a.Oldest.Compare(b.Oldest), cmp.Compare(a.Slug, b.Slug))
	})
	return all
}

// formatBacklog describes a channel's backlog by priority; empty when there is none.
func formatBacklog(l *words.Language, b statistics.Backlog) string {
	var all []string
	for _, c := range b.Classes {
		all = append(all, l.TranslatePhrase(words.Of("%s %s", atLeast(c.Waiting, app.QueueCounted(c.Waiting)), c.Priority)))
	}
	return strings.Join(all, " · ")
}
