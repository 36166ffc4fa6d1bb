package deliveries

import (
	"time"

	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/users"
)

// Selection says which occurrences of an application are wanted. What it leaves empty it does not
// ask; what it asks together must all be true.
type Selection struct {
	Event    events.ID
	State    State          // one of the deliveries is in it. Pending: one is open, or recipients are still being found
	Member   users.MemberID // one of the deliveries is for them
	From     time.Time
	Until    time.Time           // before it
	Before   events.OccurrenceID // only older ones, the newest of them
	After    events.OccurrenceID // only newer ones, the oldest of them
	Limit    int
	Searched int // how many occurrences are looked at, at most
}

// Selected are the occurrences of a Selection, the newest first.
type Selected struct {
	Occurrences []events.Occurrence
	More        bool                // there are more in the direction of the selection, or what was looked at ended before
	Last        events.OccurrenceID // the last one that was looked at, in that direction; 0: none was
}
