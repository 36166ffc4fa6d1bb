package contract_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/deliveries"
)

// chosen is a delivery with its channel and the reason for the choice.
type chosen struct {
	State   string `json:"state"`
	Channel string `json:"channel"`
	Choice  struct {
		Because    string `json:"because"`
		Text       string `json:"text"`
		AssignedTo string `json:"assigned_to"`
		InsteadOf  string `json:"instead_of"`
	} `json:"channel_choice"`
}

// chosen reads the only delivery of an occurrence of acme/shop/web.
func (w *world) chosen(occurrence int64) chosen {
	w.Helper()
	all := read[[]chosen](w.get(occurrencePath(occurrence) + "deliveries/").is(http.StatusOK))
	require.Len(w, all, 1)
	return all[0]
}

// pooled applies orders, with shop-mail in the pool `post` without a weight. It creates a second
// member of the pool by the API and returns the path of that channel.
func (w *world) pooled() (second string) {
	w.Helper()
	type channel struct {
		ID     int64  `json:"id"`
		Pool   string `json:"pool"`
		Weight int    `json:"weight"`
	}
	b := orders()
	for i, c := range b.Organizations[0].Projects[0].Channels {
		if c.Name == "shop-mail" {
			b.Organizations[0].Projects[0].Channels[i].Pool = "post"
		}
	}
	w.apply(b)
	made := read[channel](w.manager().post(shopPath+"c/", object{"name": "second", "protocol": "EMAIL", "driver": "mailbox", "pool": "post"}).is(http.StatusCreated))
	assert.Equal(w, channel{made.ID, "post", 100}, made)
	return idPath(shopPath+"c/", made.ID)
}

func TestPools(t *testing.T) {
	t.Parallel()

	t.Run("ShowTheMemberAndTheReason", both(func(w *world) {
		second := w.pooled()
		w.buyer("anna", "anna@example.org")
		box := w.work()

		id := w.happens(object{})
		d := w.chosen(id)
		assert.Equal(w, []string{"sent", "second", "weight", "shop-mail", ""}, []string{d.State, d.Channel, d.Choice.Because, d.Choice.AssignedTo, d.Choice.InsteadOf})
		e := w.explain(id, "anna")
		assert.Equal(w, "The message was sent to anna@example.org by second, chosen by weight in its pool.", e.Summary)
		assert.Equal(w, "it was sent by second, chosen by weight in its pool", e.Candidates[0].Verdict)
		assert.Equal(w, "shop-mail", e.Candidates[0].Channel, "which the address is assigned to")

		box.answers(func(deliveries.Message) error {
			box.answer = nil // The first one only.
			return deliveries.Unreachable("421 no service")
		})
		id = w.trigger(object{})
		w.eventually(occurrencePath(id), func(o occurrence) bool {
			w.clock.Advance(10 * time.Millisecond) // A message that is claimed before its outcome is stored is due a moment later.
			return o.State == "done"
		})
		d = w.chosen(id)
		assert.Equal(w, []string{"sent", "shop-mail", "not working", "second"}, []string{d.State, d.Channel, d.Choice.Because, d.Choice.InsteadOf})
		assert.Equal(w, "instead of second, which did not work", d.Choice.Text)
		assert.Equal(w, "The message was sent to anna@example.org by shop-mail, instead of second, which did not work.", w.explain(id, "anna").Summary)

		w.manager().patch(second, object{"active": false}).is(http.StatusOK)
		id = w.happens(object{})
		assert.Equal(w, "shop-mail", w.chosen(id).Channel)
	}))
}
