package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"
)

// deliveryLimit is the timeout until all triggered deliveries are done.
const deliveryLimit = 10 * time.Minute

// The content of the messages is 2.7 KB.
var (
	letterText = strings.Repeat("A line of text for Ada.\n", 40)
	letterHTML = strings.Repeat("<p>A line of text for <b>Ada</b>.</p>\n", 45)
)

// mailing is a channel with its own list and event of the same name.
type mailing struct {
	name     string
	sink     *sink
	settings string // beyond the server's address
}

// add creates a channel, a list, an application and an event with the mailing's name.
func (m mailing) add(ctx context.Context, i installation) error {
	host, port, err := net.SplitHostPort(m.sink.address)
	if err != nil {
		return err
	}
	_, err = i.apply(ctx, fmt.Sprintf(`{organizations: [{slug: %[1]s, name: Acme,
		channels: [{name: %[2]s, protocol: EMAIL, driver: smtp, settings: {host: %[3]q, port: %[4]s, from: a@example.com, tls: none%[5]s}}],
		projects: [{slug: %[6]s, name: Shop, lists: [{name: %[2]s}], applications: [{slug: %[7]s, name: Web,
			events: [{slug: %[2]s, name: %[2]s, channels: [%[2]s],
				templates: [{channel: %[2]s, subject: "Your order {{ context.order }} is on its way", text: %[8]q, html: %[9]q}],
				notifications: [{name: %[2]s, list: %[2]s}]}]}]}]}]}`,
		organization, m.name, host, port, m.settings, project, application, letterText, letterHTML))
	return err
}

func eventPath(event string) string {
	return "/api/o/" + organization + "/p/" + project + "/a/" + application + "/e/" + event + "/trigger/"
}

// trigger triggers the mailing's event for everybody on its list, unless options limit it.
func (m mailing) trigger(ctx context.Context, i installation, s *server, options string) error {
	_, _, err := i.call(ctx, s, http.MethodPost, eventPath(m.name), strings.NewReader(`{"context": {"order": 1207}, "options": {`+options+`}}`))
	return err
}

// handOff triggers the mailing's event for one person, and returns how long it took until the mail
// server had the message. No other message of the mailing may be under way.
func (m mailing) handOff(ctx context.Context, i installation, s *server, address string) (time.Duration, error) {
	start := time.Now()
	count, _ := m.sink.last()
	if err := m.trigger(ctx, i, s, fmt.Sprintf(`"limit_to": [%q]`, address)); err != nil {
		return 0, err
	}
	if err := m.sink.await(ctx, count+1); err != nil {
		return 0, err
	}
	_, at := m.sink.last()
	return at.Sub(start), nil
}

// fanOut measures the time from a trigger until all its deliveries are on the disk. The mail server
// does not answer meanwhile, so that nothing is sent. Then it measures single messages, through
// another channel, beside such an expansion.
func (b *bench) fanOut(ctx context.Context, d database) (err error) {
	m, single := mailing{name: "everybody-at-once"}, mailing{name: "single"}
	if m.sink, err = startSink(ctx, 0); err != nil {
		return err
	}
	defer m.sink.Close()
	m.sink.hold()
	defer m.sink.release() // Else an interrupted measurement would hang: connections wait for their greeting.
	if single.sink, err = startSink(ctx, 0); err != nil {
		return err
	}
	defer single.sink.Close()
	i, err := b.withMailings(ctx, d, b.rows, m)
	if err != nil {
		return err
	}
	if err := single.add(ctx, i); err != nil {
		return err
	}
	if err := d.populate(ctx, 1, mostSingles, single.name, single.name); err != nil {
		return err
	}
	var f figure
	if err := b.serving(ctx, i, func(s *server) error {
		defer m.sink.release() // Else the server would wait for those who wait.
		start, used := time.Now(), s.processor()
		if err := m.trigger(ctx, i, s, ""); err != nil {
			return err
		}
		if err := d.waitUntil(ctx, "SELECT COUNT(*) = 1 FROM occurrences WHERE expanded_at IS NOT NULL"); err != nil {
			return err
		}
		f.tocsin, f.peak = perRow(b.rows, time.Since(start), s.processor()-used), s.peak()
		return nil
	}); err != nil {
		return err
	}
	if f.floor, err = d.copyDeliveries(ctx, b.rows); err != nil {
		return err
	}
	b.result(fmt.Sprintf("trigger to %s deliveries on the disk", number(float64(b.rows))), d, "rows/s", f)
	m.sink.hold()
	return b.serving(ctx, i, func(s *server) error {
		defer m.sink.release()
		return b.besideExpansion(ctx, d, i, s, m, single)
	})
}

// besideExpansion measures single messages while an occurrence for everybody is expanded. The floor
// is the same messages before that.
func (b *bench) besideExpansion(ctx context.Context, d database, i installation, s *server, m, single mailing) error {
	var idle, beside []time.Duration
	one := func(took *[]time.Duration) error {
		t, err := single.handOff(ctx, i, s, populated(1, len(*took)%mostSingles))
		*took = append(*took, t)
		return err
	}
	for range b.handOffs {
		if err := one(&idle); err != nil {
			return err
		}
	}
	if err := m.trigger(ctx, i, s, ""); err != nil {
		return err
	}
	expanded := make(chan error, 1)
	go func() {
		expanded <- d.waitUntil(ctx, "SELECT NOT EXISTS (SELECT 1 FROM occurrences WHERE expanded_at IS NULL AND large)")
	}()
	every := time.NewTicker(askEvery)
	defer every.Stop()
	for {
		if err := one(&beside); err != nil {
			return err
		}
		select {
		case err := <-expanded:
			b.result(fmt.Sprintf("message beside the expansion of %s deliveries (floor: idle)", number(float64(b.rows))), d, "messages/s, one after the other",
				figure{tocsin: oneByOne(beside, 0), floor: oneByOne(idle, 0), peak: s.peak()})
			b.say("  %d messages, the slowest after %s", len(beside), beside[len(beside)-1].Round(100*time.Microsecond))
			return err
		case <-every.C:
		}
	}
}

// withMailings installs mailings, each with many people on its list.
func (b *bench) withMailings(ctx context.Context, d database, people int, all ...mailing) (installation, error) {
	i, err := install(ctx, b.options, d)
	for n, m := range all {
		if err == nil {
			err = m.add(ctx, i)
		}
		if err == nil {
			err = d.populate(ctx, n, people, m.name, m.name)
		}
	}
	return i, err
}

// sending measures single triggers, the time from a trigger to the message, and the rate of many
// messages.
func (b *bench) sending(ctx context.Context, d database) error {
	var sinks []*sink
	defer func() {
		for _, s := range sinks {
			_ = s.Close() // Nobody talks to it any more.
		}
	}()
	for _, latency := range []time.Duration{0, providerLatency, 0} {
		s, err := startSink(ctx, latency)
		if err != nil {
			return err
		}
		sinks = append(sinks, s)
	}
	quick := mailing{name: "quick", sink: sinks[0]}
	slow := mailing{name: "slow", sink: sinks[1], settings: fmt.Sprintf(", concurrency: %d", slowConnections)}
	nobody := mailing{name: "nobody", sink: sinks[2]}
	i, err := b.withMailings(ctx, d, b.messages, quick, slow)
	if err != nil {
		return err
	}
	if err := nobody.add(ctx, i); err != nil {
		return err
	}
	if err := b.serving(ctx, i, func(s *server) error {
		ask := func(r []byte, _, _ int) []byte {
			return appendPost(r, eventPath(nobody.name), i.key, `{"context": {"order": 1207}}`)
		}
		if _, err := b.loaded(ctx, d, s, "POST trigger", http.StatusCreated, ask, ask); err != nil {
			return err
		}
		start := time.Now()
		if err := d.waitUntil(ctx, allDone); err != nil {
			return err
		}
		b.say("  these triggers, which reach nobody, were expanded %s later", time.Since(start).Round(10*time.Millisecond))
		return nil
	}); err != nil {
		return err
	}
	if err := b.serving(ctx, i, func(s *server) error { return b.handOff(ctx, d, i, s, quick) }); err != nil {
		return err
	}
	if err := b.serving(ctx, i, func(s *server) error { return b.small(ctx, d, i, s, quick) }); err != nil {
		return fmt.Errorf("small triggers on %s: %w", d.kind, err)
	}
	if err := b.serving(ctx, i, func(s *server) error { return b.steady(ctx, d, i, s, quick) }); err != nil {
		return fmt.Errorf("steady triggers on %s: %w", d.kind, err)
	}
	for _, m := range []struct {
		mailing
		connections int
		what        string
	}{
		{quick, quickConnections, fmt.Sprintf("%s messages by SMTP, %d connections", number(float64(b.messages)), quickConnections)},
		{slow, slowConnections, fmt.Sprintf("%s messages by SMTP, %d connections, server takes %s", number(float64(b.messages)), slowConnections, providerLatency)},
	} {
		if err := b.serving(ctx, i, func(s *server) error { return b.send(ctx, d, i, s, m.mailing, m.connections, m.what) }); err != nil {
			return fmt.Errorf("%s on %s: %w", m.what, d.kind, err)
		}
	}
	if d.kind != postgres { // On SQLite a reader costs room in the log, and no time.
		return nil
	}
	what := fmt.Sprintf("%s messages by SMTP, %d connections, beside a held snapshot", number(float64(b.messages)), quickConnections)
	return d.held(ctx, func() error {
		return b.serving(ctx, i, func(s *server) error { return b.send(ctx, d, i, s, quick, quickConnections, what) })
	})
}

// How the channels send. quickConnections is what a channel has by default.
const (
	quickConnections = 16
	slowConnections  = 64
	providerLatency  = 5 * time.Millisecond
)

// allDone is the query that returns true when no delivery waits.
const allDone = "SELECT NOT EXISTS (SELECT 1 FROM occurrences WHERE expanded_at IS NULL) AND NOT EXISTS (SELECT 1 FROM deliveries WHERE state < 3)"

// handOff measures the time from the call of a trigger to the end of its message at the mail
// server, without other load. The floor is the same call to the floor's server, and then the
// message by the library alone.
func (b *bench) handOff(ctx context.Context, d database, i installation, s *server, m mailing) error {
	own, err := newMailer(ctx, m.sink.address)
	if err != nil {
		return err
	}
	defer own.Close()
	var took, floor []time.Duration
	used := s.processor()
	for n := range b.handOffs {
		start := time.Now()
		if err := m.trigger(ctx, i, b.floor, ""); err != nil {
			return err
		}
		if err := own.send(); err != nil {
			return err
		}
		floor = append(floor, time.Since(start))

		one, err := m.handOff(ctx, i, s, populated(0, n%b.messages))
		if err != nil {
			return err
		}
		took = append(took, one)
		if err := d.waitUntil(ctx, allDone); err != nil { // So that the next one finds it idle.
			return err
		}
	}
	b.result("trigger to hand-off when idle", d, "messages/s, one after the other", figure{
		tocsin: oneByOne(took, (s.processor()-used)/time.Duration(b.handOffs)), floor: oneByOne(floor, 0), peak: s.peak()})
	return nil
}

func oneByOne(took []time.Duration, processor time.Duration) sample {
	slices.Sort(took)
	var all time.Duration
	for _, t := range took {
		all += t
	}
	return sample{rate: float64(len(took)) / all.Seconds(), p50: quantile(took, 50), p99: quantile(took, 99), processor: processor}
}

// send measures the time from the first greeting of the mail server, with all deliveries on the
// disk, until all outcomes are on the disk.
func (b *bench) send(ctx context.Context, d database, i installation, s *server, m mailing, connections int, what string) error {
	m.sink.hold()
	m.sink.release()
	start := time.Now()
	floor, err := mailFloor(ctx, m.sink.address, connections, b.messages)
	if err != nil {
		return err
	}
	if _, _, err := floor.output(nil); err != nil {
		return err
	}
	used := floor.ProcessState.UserTime() + floor.ProcessState.SystemTime()
	count, last := m.sink.last()
	if count != b.messages {
		return fmt.Errorf("the floor sent %d messages instead of %d", count, b.messages)
	}
	f := figure{floor: perRow(b.messages, last.Sub(start), used)}

	if err := d.settle(ctx); err != nil {
		return err
	}
	m.sink.hold()
	if err := m.trigger(ctx, i, s, ""); err != nil {
		return err
	}
	if err := d.waitUntil(ctx, "SELECT NOT EXISTS (SELECT 1 FROM occurrences WHERE expanded_at IS NULL)"); err != nil {
		return err
	}
	used = s.processor()
	m.sink.release()
	start = time.Now()
	if err := m.sink.await(ctx, b.messages); err != nil {
		return err
	}
	if err := d.waitUntil(ctx, allDone); err != nil {
		return err
	}
	f.tocsin, f.peak = perRow(b.messages, time.Since(start), s.processor()-used), s.peak()
	if count, _ := m.sink.last(); count != b.messages {
		return fmt.Errorf("%d messages came instead of %d", count, b.messages)
	}
	b.result(what, d, "messages/s", f)
	return nil
}
