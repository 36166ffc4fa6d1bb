package channels

import (
	"time"

	"github.com/tocsin/tocsin/domain/orgs"
)

// Outage records that a channel does not work on one instance: several attempts in a row failed
// through no fault of a recipient. The instance pauses the channel and then tries it with one
// message at a time. Each instance stores its own outages, because another process may show them.
type Outage struct {
	Channel  ID
	Project  orgs.ProjectID // of the channel; 0: the organization's own
	Name     string         // of the channel
	Instance string         // its name for operators
	Since    time.Time      // the first failure in the row
	Last     time.Time      // the latest failure
	Until    time.Time      // the next attempt is not before
	ForAll   bool           // for all instances: the provider asked for the pause
	Error    string         // the latest, without the channel's secrets
}

// Failing is a channel that does not work, with the outage of one instance.
type Failing struct {
	Outage

	Organization orgs.ID
	ProjectSlug  string // of the channel's project; empty: it is the organization's own
}

// OutageExpiry is how long after the end of its pause an outage that is not reported again is
// ignored. An instance that still had it would have tried the channel again if there was anything
// to send, and nobody has sent anything since that would have cleared it.
const OutageExpiry = 24 * time.Hour

// OutageOverdue is how long after the end of its pause an outage is kept, although another instance
// sends successfully. After that, the other instance clears it: the one that reported it would have
// tried again if it had anything to send. By then a member of a pool has its full weight again.
const OutageOverdue = TrialFor + RampUpFor

// Paused reports whether the channel is paused on its instance.
func (o Outage) Paused(now time.Time) bool { return now.Before(o.Until) }
