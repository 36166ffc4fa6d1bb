package channels

import (
	"time"

	"github.com/tocsin/tocsin/domain/orgs"
)

// Trouble is a channel that does not work on one instance: attempts failed in a row through no fault of a recipient, so that the
// instance lets the channel rest and then tries it with one message at a time. Each instance finds that out for itself and says so
// in the store, because the process that shows it is another one.
type Trouble struct {
	Channel  ID
	Project  orgs.ProjectID // of the channel; 0: the organization's own
	Name     string         // of the channel
	Instance string         // as operators know it
	Since    time.Time      // of the first failure in the row
	Last     time.Time      // of the latest failure
	Until    time.Time      // nothing is tried before
	Error    string         // the latest, without the channel's secrets
}

// Failing is a channel that does not work, by what one instance says of it.
type Failing struct {
	Trouble

	Organization orgs.ID
	ProjectSlug  string // of the channel's project; empty: it is the organization's own
}

// TroubleForgotten is how long after the end of its rest a trouble that nobody has spoken of since counts no more: an instance that still had
// it would have tried again, if there was anything to send, and one that is gone does not take its words back.
const TroubleForgotten = 24 * time.Hour

// TroubleOverdue is how long after the end of its rest a trouble is withdrawn by another instance that gets messages through.
const TroubleOverdue = 10 * time.Minute

// Resting tells whether the channel rests on its instance.
func (t Trouble) Resting(now time.Time) bool { return now.Before(t.Until) }
