package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"
)

// The attacking organization, and the size of its attack.
const (
	attacker   = "globex"
	victims    = 200    // people of the attacker's, each with a mail address and a webhook that hang
	attackRows = 50_000 // of each import
	askEvery   = 10 * time.Millisecond
	// The limits for the other organization: how many times its idle p99, and how long a single
	// message may take.
	mostTimes   = 3
	mostMessage = time.Second
)

// busyVariable makes this program a process that keeps every processor busy.
const busyVariable = "TOCSIN_TEST_BENCH_BUSY"

// walls measures how much an attacking organization slows another one: by dry runs, triggers with
// the largest contexts, messages to mail servers and webhooks that hang, and imports, with the
// default quotas of an installation. The floor is the same without the attack.
func (b *bench) walls(ctx context.Context, d database) (err error) {
	single, stuck := mailing{name: "single"}, mailing{name: "stuck"}
	if single.sink, err = startSink(ctx, 0); err != nil {
		return err
	}
	defer single.sink.Close()
	if stuck.sink, err = startSink(ctx, 0); err != nil {
		return err
	}
	defer stuck.sink.Close()
	stuck.sink.hold()
	i, err := b.withMailings(ctx, d, 1000, single)
	if err != nil {
		return err
	}
	hole, err := (&net.ListenConfig{}).Listen(ctx, "tcp4", "127.0.0.1:0") // Nothing accepts: a client waits for an answer.
	if err != nil {
		return err
	}
	defer hole.Close()
	a := attack{installation: i, attackers: b.attackers}
	if a.key, err = a.found(ctx, stuck.sink.address); err != nil {
		return err
	}
	a.file = filepath.Join(b.dir, "attack.csv")
	if err := writePeople(a.file, min(attackRows, b.rows)); err != nil {
		return err
	}
	return b.serving(ctx, i, func(s *server) (err error) {
		defer func() { // Else the server would wait for those who wait.
			stuck.sink.release()
			err = errors.Join(err, hole.Close())
		}()
		if err := a.enroll(ctx, s, hole.Addr().String()); err != nil {
			return err
		}
		if err := d.settle(ctx); err != nil {
			return err
		}
		idleGet, idleMessage, err := b.latencies(ctx, i, s, single)
		if err != nil {
			return err
		}
		end, err := a.begin(ctx, s)
		if err != nil {
			return err
		}
		get, message, err := b.latencies(ctx, i, s, single)
		if err := errors.Join(err, end()); err != nil {
			return err
		}
		b.result("GET beside an attack (floor: idle)", d, "requests/s", figure{tocsin: get, floor: idleGet, peak: s.peak()})
		b.result("message beside an attack (floor: idle)", d, "messages/s", figure{tocsin: message, floor: idleMessage, peak: s.peak()})
		b.say("  GET p99: %s idle, %s under attack, %.1f times (at most %d); slowest message: %s idle, %s under attack (at most %s)",
			idleGet.p99, get.p99, float64(get.p99)/float64(idleGet.p99), mostTimes, idleMessage.p99, message.p99, mostMessage)
		return b.besideBusyProcessors(ctx, i, d)
	}, "--rate-limit", "500", "--organization-rate-limit", "2000")
}

// latencies measures one client of the organization, which sends a hundred requests a second, and
// then single messages one after the other.
func (b *bench) latencies(ctx context.Context, i installation, s *server, m mailing) (get, message sample, err error) {
	every := time.NewTicker(askEvery)
	defer every.Stop()
	if get, err = b.asked(ctx, i, s); err != nil {
		return get, message, err
	}
	var took []time.Duration
	for n := range max(b.handOffs/4, 1) {
		<-every.C
		one, err := m.handOff(ctx, i, s, populated(0, n))
		if err != nil {
			return get, message, err
		}
		took = append(took, one)
	}
	slices.Sort(took)
	message = oneByOne(took, 0)
	message.p99 = took[len(took)-1]
	return get, message, nil
}

// asked measures the latency of one client that sends a hundred requests a second.
func (b *bench) asked(ctx context.Context, i installation, s *server) (sample, error) {
	c, err := dial(ctx, s.address)
	if err != nil {
		return sample{}, err
	}
	defer c.Close()
	request := fmt.Appendf(nil, "GET /api/o/%s/p/%s/ HTTP/1.1\r\nHost: bench\r\nAuthorization: Key %s\r\n\r\n", organization, project, i.key)
	every := time.NewTicker(askEvery)
	defer every.Stop()
	var took []time.Duration
	begin := time.Now()
	warm, end := begin.Add(b.length/5), begin.Add(b.length/5+2*b.length)
	for now := begin; now.Before(end); now = <-every.C {
		start := time.Now()
		status, err := c.ask(request, start)
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("the server answered %d", status)
		}
		if err != nil {
			return sample{}, err
		}
		if start.After(warm) {
			took = append(took, time.Since(start))
		}
	}
	return oneByOne(took, 0), nil
}

// besideBusyProcessors measures the latency of the same client with a server without a database,
// with idle processors and when another process keeps all of them busy. The difference is what the
// system's scheduler takes from any program.
func (b *bench) besideBusyProcessors(ctx context.Context, i installation, d database) error {
	idle, err := b.asked(ctx, i, b.floor)
	if err != nil {
		return err
	}
	itself, err := os.Executable()
	if err != nil {
		return err
	}
	p := newProcess(ctx, itself, []string{busyVariable + "=yes"})
	if err := p.Start(); err != nil {
		return err
	}
	busy, err := b.asked(ctx, i, b.floor)
	if err := errors.Join(err, p.terminate()); err != nil {
		return err
	}
	b.result("GET without a database beside busy processors (floor: idle)", d, "requests/s", figure{tocsin: busy, floor: idle, peak: b.floor.peak()})
	b.say("  without a database: %s idle, %s beside busy processors, %.1f times", idle.p99, busy.p99, float64(busy.p99)/float64(idle.p99))
	return nil
}

// keepBusy keeps every processor busy until the process is killed.
func keepBusy() {
	for range runtime.NumCPU() - 1 {
		go spin()
	}
	spin()
}

func spin() {
	var sum [sha256.Size]byte
	for {
		sum = sha256.Sum256(sum[:])
	}
}
