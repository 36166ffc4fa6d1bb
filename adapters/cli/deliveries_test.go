package cli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/cli"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/test/harness"
)

// failed triggers an event for one recipient whose delivery fails.
func (d *fixture) failed(t *testing.T) events.OccurrenceID {
	t.Helper()
	s, web := d.store(t), app.Path{Organization: "acme", Project: "shop", Application: "web"}
	use := harness.Assemble(d.parts(s)).API
	_, err := use.Applications.Register(t.Context(), audit.Actor{}, web, app.Registration{
		User: users.User{Username: "ada"}, Details: users.Details{Email: "ada@example.org"}, Active: true, List: "Web users",
		Addresses: []app.RegisteredAddress{{Address: users.NewEmailAddress("ada@example.org"), ToPreferred: true}}})
	require.NoError(t, err)
	o, _, err := use.Triggers.Trigger(t.Context(), audit.Actor{}, web, "shipped", app.Trigger{Context: events.Context("{}")})
	require.NoError(t, err)
	step, err := s.Queue().Expand(t.Context(), deliveries.AllOccurrences, 10)
	require.NoError(t, err)
	require.Equal(t, 1, step.Deliveries)
	due, err := s.Queue().Due(t.Context())
	require.NoError(t, err)
	require.Len(t, due, 1)
	jobs, err := s.Queue().Claim(t.Context(), due[0].Channel, "w", 10, time.Minute)
	require.NoError(t, err)
	require.Len(t, jobs, 1)
	_, err = s.Queue().Record(t.Context(), "w", []deliveries.Outcome{{ID: jobs[0].ID, State: deliveries.Failed, Error: "550 no such mailbox", Attempts: 1}})
	require.NoError(t, err)
	return o.ID
}

func TestDeliveriesRetry(t *testing.T) {
	t.Parallel()
	d := newShop(t)
	d.In = strings.NewReader(`{organizations: [{slug: acme, name: Acme, projects: [{slug: shop, name: Shop, applications: [{slug: web, name: Web,
		events: [{slug: shipped, name: Shipped, channels: [mail], templates: [{channel: mail, text: Hello}]}]}]}]}]}`)
	d.done(t, "apply", "-f", "-")
	o := d.failed(t)
	retry := []string{"deliveries", "retry", "--occurrence", strconv.FormatInt(int64(o), 10)}
	assert.Equal(t, "requeued 1 failed deliveries of occurrence 1\n", d.done(t, retry...))
	assert.Equal(t, "requeued 0 failed deliveries of occurrence 1\n", d.done(t, retry...), "it waits to be sent already")
	due, err := d.store(t).Queue().Due(t.Context())
	require.NoError(t, err)
	assert.Len(t, due, 1)

	assert.Equal(t, 1, d.run(t, "deliveries", "retry", "--occurrence", "2"))
	assert.Equal(t, "tocsin: the occurrence does not exist\n", d.err.String())
	assert.Equal(t, 2, d.run(t, "deliveries", "retry"))
	assert.Equal(t, 2, d.run(t, "deliveries", "retry", "--occurrence", "-1"))
}

func TestServeAndWorker(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	var began []string
	d.Serve = func(_ context.Context, _ *pflag.FlagSet, serving cli.ServeOptions) error {
		began = append(began, fmt.Sprint("serve ", serving.Send, serving.Hold))
		return nil
	}
	d.Work = func(context.Context, *pflag.FlagSet) error {
		began = append(began, "work")
		return nil
	}
	d.done(t, "serve")
	d.done(t, "serve", "--no-worker")
	d.done(t, "serve", "--hold")
	d.done(t, "worker")
	assert.Equal(t, []string{"serve true false", "serve false false", "serve true true", "work"}, began)
}

func TestTrace(t *testing.T) {
	t.Parallel()
	d := newShop(t)
	d.In = strings.NewReader(`{organizations: [{slug: acme, name: Acme, projects: [{slug: shop, name: Shop, applications: [{slug: web, name: Web,
		events: [{slug: shipped, name: Shipped, channels: [mail], templates: [{channel: mail, text: Hello}]}]}]}]}]}`)
	d.done(t, "apply", "-f", "-")
	d.failed(t)
	printed := d.done(t, "trace", "1")
	for _, line := range []string{`application +acme/shop/web`, `event +shipped`, `occurrence +1`, `priority +normal`, `triggered +20\d\d-`, `recipient +ada`,
		`address +ada@example\.org`, `channel +mail \(EMAIL\)`, `attempts +1`, `last error +550 no such mailbox`, `state +failed`, `finished +20\d\d-`} {
		assert.Regexp(t, `(?m)^`+line, printed)
	}
	assert.NotContains(t, printed, "waits for")
	assert.JSONEq(t, `"failed"`, string(jsonOf(t, d.done(t, "trace", "1", "-o", "json"))["state"]))
	d.done(t, "deliveries", "retry", "--occurrence", "1")
	turn := d.done(t, "trace", "1")
	assert.Regexp(t, `(?m)^waits for +its turn`, turn)
	assert.NotContains(t, turn, "next attempt", "it is as soon as possible")
	for _, c := range []struct{ arg, says string }{{"0", `"0" is no id of a delivery`}, {"x", `"x" is no id of a delivery`}, {"77", "delivery"}} {
		assert.NotZero(t, d.run(t, "trace", c.arg))
		assert.Contains(t, d.err.String(), c.says)
	}
}

// TestTraceOfAWaitingDelivery checks that a trace says when the next attempt is as the API does:
// Next may be the end of a lease, or a time at which nothing is sent.
func TestTraceOfAWaitingDelivery(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	const later, since = `"2026-03-04T06:06:07Z"`, `"2026-03-04T04:06:07Z"`
	for name, c := range map[string]struct {
		waiting     deliveries.Waiting
		next, since string
	}{
		"ForTheNextAttempt":    {deliveries.Waiting{For: deliveries.ForAttempt, Until: now.Add(time.Hour)}, later, ""},
		"ForAFailingChannel":   {deliveries.Waiting{For: deliveries.ForChannel, Since: now.Add(-time.Hour), Until: now.Add(time.Hour)}, later, since},
		"ForATrialAsSoonAsCan": {deliveries.Waiting{For: deliveries.ForChannel, Since: now.Add(-time.Hour)}, "", since},
		"ForAnAnswer":          {deliveries.Waiting{For: deliveries.ForAnswer}, "", ""},
		"ForARelease":          {deliveries.Waiting{For: deliveries.ForRelease}, "", ""},
		"ForNothing":           {deliveries.Waiting{}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			printed, err := json.Marshal(cli.TraceOf(app.DeliveryTrace{Delivery: deliveries.Delivery{Next: now.Add(time.Minute), Waiting: c.waiting}}))
			require.NoError(t, err)
			members := jsonOf(t, string(printed))
			assert.Equal(t, c.next, string(members["next_attempt"]))
			assert.Equal(t, c.since, string(members["since"]))
		})
	}
}

func jsonOf(t *testing.T, text string) (members map[string]json.RawMessage) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(text), &members))
	return members
}
