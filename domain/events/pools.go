package events

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/fault"
)

// Pool is a pool that an event is limited to: the channels that are its members at the time.
type Pool struct {
	Name     string
	Protocol channels.Protocol
}

// Compare orders pools by name and protocol.
func (p Pool) Compare(other Pool) int {
	return cmp.Or(cmp.Compare(p.Name, other.Name), cmp.Compare(p.Protocol, other.Protocol))
}

// Pools are the pools that channels are members of, by name and protocol.
func Pools(of []channels.Channel) []Pool {
	var found []Pool
	for _, c := range of {
		if p := (Pool{c.Pool, c.Protocol}); c.Pool != "" && !slices.Contains(found, p) {
			found = append(found, p)
		}
	}
	slices.SortFunc(found, Pool.Compare)
	return found
}

// MaxPools is how many pools an event names at most.
const MaxPools = 100

// PoolsNamed finds the pools of these names among those that an event may use. An unknown name is a
// fault, and so is a name of pools of several protocols. Pools that the event has already stay: had
// decides between several protocols, and keeps a pool that no channel is a member of any more.
func PoolsNamed(usable, had []Pool, named []string) ([]Pool, error) {
	if len(named) > MaxPools {
		return nil, fault.Field("pools", "has more than %d names", MaxPools)
	}
	var faults fault.Fields
	var found []Pool
	for i, name := range named {
		field := fmt.Sprintf("pools[%d]", i)
		unnamed := func(p Pool) bool { return p.Name != name }
		of := slices.DeleteFunc(slices.Clone(usable), unnamed)
		kept := slices.DeleteFunc(slices.Clone(had), unnamed)
		if i := slices.IndexFunc(kept, func(p Pool) bool { return len(of) == 0 || slices.Contains(of, p) }); i >= 0 {
			of = kept[i : i+1]
		}
		switch len(of) {
		case 0:
			faults.Addf(field, "no channel of the project or the organization is in a pool %q", name)
		case 1:
			if !slices.Contains(found, of[0]) {
				found = append(found, of[0])
			}
		default:
			faults.Addf(field, "channels of %s and of %s are in pools %q; an event names a pool of one protocol", of[0].Protocol, of[1].Protocol, name)
		}
	}
	slices.SortFunc(found, Pool.Compare)
	return found, faults.Err()
}
