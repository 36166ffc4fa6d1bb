package channels

import (
	"time"

	"github.com/tocsin/tocsin/domain/orgs"
)

// Outage says that a channel does not work on one instance: several attempts in a row failed
// through no fault of a recipient. The instance lets the channel rest and then tries it with one
// message at a time. Each instance records its own outages in the store, because another process
// may show them.
type Outage struct {
	Channel  ID
	Project  orgs.ProjectID // of the channel; 0: the organization's own
	Name     string         // of the channel
	Instance string         // as operators know it
	Since    time.Time      // of the first failure in the row
	Last     time.Time      // of the latest failure
	Until    time.Time      // nothing is tried before
	ForAll   bool           // nor by any other instance: the provider asked for that
	Error    string         // the latest, without the channel's secrets
}

// Failing is a channel that does not work, with the outage of one instance.
type Failing struct {
	Outage

	Organization orgs.ID
	ProjectSlug  string // of the channel's project; empty: it is the organization's own
}

// OutageExpiry is how long after the end of its rest an outage that nobody reports again is
// ignored. An instance that still had it would have tried the channel again if there was anything
// to send, and an instance that is gone does not clear its outages.
const OutageExpiry = 24 * time.Hour

// OutageOverdue is how long after the end of its rest an outage is cleared by another instance that
// gets messages through.
const OutageOverdue = 10 * time.Minute

// Resting reports whether the channel rests on its instance.
func (o Outage) Resting(now time.Time) bool { return now.Before(o.Until) }
