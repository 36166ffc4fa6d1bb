package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
)

// All messages of this measurement go through this provider, which accepts 800 messages a second.
const (
	blastLatency     = 20 * time.Millisecond
	blastConnections = 16
	blastRate        = float64(blastConnections) * float64(time.Second) / float64(blastLatency)
)

// mostSingles is the number of users who get single messages.
const mostSingles = 1000

// blast is a project with a list and an event for everybody on it. All blasts share a channel.
type blast struct {
	project string
	name    string
	crowd   int
	people  int
}

// order measures the order on a channel that has more to send than its provider accepts: single
// messages, normal and urgent, beside a blast; two blasts; and the blasts of three projects. It
// also measures single messages beside many triggers of another organization.
func (b *bench) order(ctx context.Context, d database) (err error) {
	provider, err := startSink(ctx, blastLatency)
	if err != nil {
		return err
	}
	defer provider.Close()
	part := max(b.list/4, 1)
	all := []blast{{project, "first", 0, b.list}, {project, "second", 1, part}, {project, "single", 2, mostSingles}, {"north", "north", 3, part}, {"south", "south", 4, part}}
	i, err := install(ctx, b.options, d)
	if err != nil {
		return err
	}
	for _, one := range all {
		if err := one.add(ctx, i, provider.address); err != nil {
			return err
		}
		if err := d.populate(ctx, one.crowd, one.people, channelOfAll, one.name); err != nil {
			return err
		}
	}
	empty, err := i.withEmptyEvent(ctx)
	if err != nil {
		return err
	}
	o := ordering{bench: b, database: d, installation: i, provider: provider}
	first, second, single, north, south := all[0], all[1], all[2], all[3], all[4]
	return b.serving(ctx, i, func(s *server) error {
		o.server = s
		if err := o.besideTriggers(ctx, single, empty); err != nil {
			return fmt.Errorf("single messages beside empty triggers: %w", err)
		}
		if err := o.beside(ctx, first, single); err != nil {
			return fmt.Errorf("single messages beside a blast: %w", err)
		}
		if err := o.shared(ctx, "two blasts on one channel, the slower one (floor: half of both)", first, second); err != nil {
			return fmt.Errorf("two blasts: %w", err)
		}
		if err := o.shared(ctx, "three projects on one channel, the slowest one (floor: a third of all)", first, north, south); err != nil {
			return fmt.Errorf("three projects: %w", err)
		}
		return nil
	})
}

// channelOfAll is the shared channel of all blasts.
const channelOfAll = "provider"

// add creates the channel, unless it exists, and the blast's project, list and event.
func (m blast) add(ctx context.Context, i installation, address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	_, err = i.apply(ctx, fmt.Sprintf(`{organizations: [{slug: %[1]s, name: Acme,
		channels: [{name: %[2]s, protocol: EMAIL, driver: smtp, settings: {host: %[3]q, port: %[4]s, from: a@example.com, tls: none, concurrency: %[5]d}}],
		projects: [{slug: %[6]s, name: Shop, lists: [{name: %[7]s}], applications: [{slug: %[8]s, name: Web,
			events: [{slug: %[7]s, name: %[7]s, channels: [%[2]s], templates: [{channel: %[2]s, subject: "Your order {{ context.order }} is on its way", text: %[9]q}],
				notifications: [{name: %[7]s, list: %[7]s}]}]}]}]}]}`,
		organization, channelOfAll, host, port, blastConnections, m.project, m.name, application, letterText))
	return err
}

func (m blast) path() string {
	return "/api/o/" + organization + "/p/" + m.project + "/a/" + application + "/"
}

// neighbour is an organization with an event that reaches nobody.
const neighbour = "globex"

// withEmptyEvent creates the neighbour, and returns the installation with its key.
func (i installation) withEmptyEvent(ctx context.Context) (installation, error) {
	if _, err := i.apply(ctx, fmt.Sprintf(`{organizations: [{slug: %s, name: Globex, projects: [{slug: %s, name: Shop,
		applications: [{slug: %s, name: Web, events: [{slug: empty, name: Empty}]}]}]}]}`, neighbour, project, application)); err != nil {
		return i, err
	}
	printed, _, err := i.tocsin(ctx, "key", "create", "--name", "neighbour", "--org", neighbour, "--grant", "full_access").output(nil)
	i.key = strings.TrimSpace(string(printed))
	return i, err
}

// ordering measures the order of the messages through one provider.
type ordering struct {
	*bench
	database
	installation

	server   *server
	provider *sink
}

// trigger triggers the event of a blast and returns the number of its occurrence.
func (o ordering) trigger(ctx context.Context, m blast, options string) (occurrence int64, err error) {
	answer, err := o.installation.send(ctx, o.server, http.MethodPost, m.path()+"e/"+m.name+"/trigger/",
		strings.NewReader(`{"context": {"order": 1207}, "options": {`+options+`}}`))
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	var made struct {
		Occurrence int64 `json:"occurrence"`
	}
	err = json.NewDecoder(answer.Body).Decode(&made)
	return made.Occurrence, err
}

// triggerAll triggers blasts at the same time. end cancels them and waits until nothing is left.
func (o ordering) triggerAll(ctx context.Context, all ...blast) (end func() error, err error) {
	ids := make([]int64, len(all))
	for n, m := range all {
		if ids[n], err = o.trigger(ctx, m, ""); err != nil {
			return nil, err
		}
	}
	return func() error {
		for n, m := range all {
			if _, _, err := o.call(ctx, o.server, http.MethodPost, fmt.Sprintf("%soccurrences/%d/cancel/", m.path(), ids[n]), http.NoBody); err != nil {
				return err
			}
		}
		return o.waitUntil(ctx, allDone)
	}, nil
}

// arrive waits for count more messages. It returns how many of them each crowd got, and their rate.
func (o ordering) arrive(ctx context.Context, count int) (of map[int]int, rate float64, err error) {
	start := time.Now()
	begin, _ := o.provider.last()
	if err := o.provider.await(ctx, begin+count); err != nil {
		return nil, 0, err
	}
	return o.provider.countOf(begin), float64(count) / time.Since(start).Seconds(), nil
}

// span returns the number of messages of a measurement: as many as the provider accepts in that
// time, but not more than there are people.
func (o ordering) span(of ...blast) int {
	least := of[0].people
	for _, m := range of {
		least = min(least, m.people)
	}
	return max(1, min(int(2*blastRate*o.length.Seconds()), least/4))
}

// beside measures single messages beside a blast, and the blast beside them. The floor of the
// messages is the same without the blast. The floor of the blast is the rate of the provider.
func (o ordering) beside(ctx context.Context, m, single blast) error {
	count := o.span(m)
	idle, err := o.singles(ctx, single, "")
	if err != nil {
		return err
	}
	end, err := o.triggerAll(ctx, m)
	if err != nil {
		return err
	}
	if err := o.provider.await(ctx, count/4+1); err != nil { // The channel has found its pace.
		return err
	}
	_, alone, err := o.arrive(ctx, count)
	if err != nil {
		return err
	}
	start := time.Now()
	begin, _ := o.provider.last()
	normal, err := o.singles(ctx, single, "")
	if err != nil {
		return err
	}
	urgent, err := o.singles(ctx, single, `"priority": "urgent", `)
	if err != nil {
		return err
	}
	beside := float64(o.provider.countOf(begin)[m.crowd]) / time.Since(start).Seconds()
	peak := o.server.peak()
	o.result("message beside a blast (floor: idle)", o.database, "messages/s, one after the other", figure{tocsin: normal, floor: idle, peak: peak})
	o.result("urgent message beside a blast (floor: idle)", o.database, "messages/s, one after the other", figure{tocsin: urgent, floor: idle, peak: peak})
	o.result("blast beside single messages (floor: alone)", o.database, "messages/s", figure{tocsin: sample{rate: beside}, floor: sample{rate: alone}, peak: peak})
	o.say("  p99 of a message beside a blast: %s, urgent: %s; the blast keeps %.1f %% of %s messages/s", normal.p99, urgent.p99, 100*beside/alone, number(alone))
	return end()
}

// besideTriggers measures single messages while the neighbour triggers an event that reaches
// nobody, as quickly as it is answered. The floor is the same messages before that.
func (o ordering) besideTriggers(ctx context.Context, single blast, other installation) error {
	idle, err := o.singles(ctx, single, "")
	if err != nil {
		return err
	}
	l := load{server: o.server, connections: o.connections, length: o.length, status: http.StatusCreated, request: func(r []byte, _, _ int) []byte {
		return appendPost(r, "/api/o/"+neighbour+"/p/"+project+"/a/"+application+"/e/empty/trigger/", other.key, `{"context": {"order": 1207}}`)
	}}
	ended := make(chan error, 1)
	var answers sample
	go func() {
		var err error
		answers, _, err = l.run(ctx)
		ended <- err
	}()
	var failed error
	beside, err := o.singlesWhile(ctx, single, "", func(int) bool {
		select {
		case failed = <-ended:
			return false
		default:
			return true
		}
	})
	if err := errors.Join(err, failed); err != nil {
		return err
	}
	o.result("message beside empty triggers of another organization (floor: idle)", o.database, "messages/s, one after the other",
		figure{tocsin: beside, floor: idle, peak: o.server.peak()})
	o.say("  beside %s triggers/s", number(answers.rate))
	return o.waitUntil(ctx, allDone)
}

// singles measures single messages, one after the other.
func (o ordering) singles(ctx context.Context, m blast, options string) (sample, error) {
	return o.singlesWhile(ctx, m, options, func(n int) bool { return n < o.handOffs })
}

// singlesWhile measures single messages, one after the other, at least one, while more returns true
// for their number.
func (o ordering) singlesWhile(ctx context.Context, m blast, options string, more func(n int) bool) (sample, error) {
	var took []time.Duration
	every := time.NewTicker(askEvery)
	defer every.Stop()
	for n := 0; n == 0 || more(n); n++ {
		<-every.C
		before, _ := o.provider.last()
		start := time.Now()
		if _, err := o.trigger(ctx, m, options+fmt.Sprintf(`"limit_to": [%q]`, populated(m.crowd, n%m.people))); err != nil {
			return sample{}, err
		}
		for came := 1; ; came++ {
			if err := o.provider.await(ctx, before+came); err != nil {
				return sample{}, err
			}
			if at := o.provider.firstOf(m.crowd, before); !at.IsZero() {
				took = append(took, at.Sub(start))
				break
			}
		}
	}
	return oneByOne(took, 0), nil
}

// shared measures the share of the slowest of several blasts that begin together.
func (o ordering) shared(ctx context.Context, what string, all ...blast) error {
	count := o.span(all...)
	end, err := o.triggerAll(ctx, all...)
	if err != nil {
		return err
	}
	before, _ := o.provider.last()
	if err := o.provider.await(ctx, before+count/4+1); err != nil {
		return err
	}
	of, rate, err := o.arrive(ctx, count)
	if err != nil {
		return err
	}
	least := count
	for _, m := range all {
		least = min(least, of[m.crowd])
	}
	fair := 1 / float64(len(all))
	o.result(what, o.database, "messages/s", figure{tocsin: sample{rate: rate * float64(least) / float64(count)}, floor: sample{rate: rate * fair}, peak: o.server.peak()})
	o.say("  of %d messages each got: %v", count, of)
	return end()
}
