package deliveries

import (
	"time"

	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/users"
)

// Selection selects occurrences of an application. Empty fields restrict nothing; all others must
// match.
type Selection struct {
	Event    events.ID
	State    State          // a delivery is in it. Pending: one is open, or recipients are still being found
	Member   users.MemberID // a delivery is for this member
	From     time.Time
	Until    time.Time           // before it
	Before   events.OccurrenceID // only older ones, the newest of them
	After    events.OccurrenceID // only newer ones, the oldest of them
	Limit    int
	Searched int // the largest number of occurrences to read
}

// Selected are the occurrences of a Selection, the newest first.
type Selected struct {
	Occurrences []events.Occurrence
	More        bool                // there are more in the direction of the selection, or the search stopped at Searched
	Last        events.OccurrenceID // the last one that was read, in that direction; 0: none
}
