package conformance

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/ports"
)

func eventPoolCases() cases {
	return cases{
		"AnEventKeepsAPoolThatLostItsLastMember": func(t *testing.T, w *world) {
			all := w.pooled(t, 100)
			limited := w.mine.order
			limited.Pools = []events.Pool{{Name: "post", Protocol: channels.EMAIL}}
			act(t, w, func(tx ports.Tx) error { return tx.Events().Save(t.Context(), limited) })
			all[0].Pool = "other" // as an earlier release may do it, which does not ask
			w.saveChannel(t, all[0])
			limited.Name = "Another name"
			act(t, w, func(tx ports.Tx) error { return tx.Events().Save(t.Context(), limited) })
			assert.Equal(t, limited, w.event(t, w.mine.web, "order"))
			limited.Pools = []events.Pool{{Name: "other", Protocol: channels.EMAIL}}
			act(t, w, func(tx ports.Tx) error { return tx.Events().Save(t.Context(), limited) })
			assert.Equal(t, limited, w.event(t, w.mine.web, "order"))
			limited.Pools = []events.Pool{{Name: "post", Protocol: channels.EMAIL}}
			refused(t, w, channels.ErrNotFound, func(tx ports.Tx) error { return tx.Events().Save(t.Context(), limited) })
		},
		"EventNamesOnlyExistingPools": func(t *testing.T, w *world) {
			w.pooled(t, 100)
			w.open(t, channels.Channel{Name: "D", Project: w.mine.annex.ID, Protocol: channels.EMAIL, Pool: "annex"})
			for _, p := range []events.Pool{{Name: "nope", Protocol: channels.EMAIL}, {Name: "post", Protocol: channels.SMS}, {Protocol: channels.SMS}, {Name: "annex", Protocol: channels.EMAIL}} {
				limited := w.mine.order
				limited.Pools = []events.Pool{p}
				refused(t, w, channels.ErrNotFound, func(tx ports.Tx) error { return tx.Events().Save(t.Context(), limited) })
			}
		},
	}
}
