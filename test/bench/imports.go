package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"
)

// imports measures an import, the same import again, and a list of the imported people.
func (b *bench) imports(ctx context.Context, d database, file string) error {
	var fill, find sample
	if err := b.withDatabase(ctx, d.kind, func(ctx context.Context, empty database) (err error) {
		fill, find, err = rawFill(ctx, empty, b.rows)
		return err
	}); err != nil {
		return fmt.Errorf("floor of the import on %s: %w", d.kind, err)
	}
	i, err := install(ctx, b.options, d)
	if err != nil {
		return err
	}
	for _, pass := range []struct {
		what, counted string
		floor         sample
	}{
		{fmt.Sprintf("import of %s rows, all new", number(float64(b.rows))), "created", fill},
		{"the same import again", "unchanged", find},
	} {
		if err := d.settle(ctx); err != nil {
			return err
		}
		f, err := b.importOnce(ctx, i, file, pass.counted)
		if err != nil {
			return err
		}
		f.floor = pass.floor
		b.result(pass.what, d, "rows/s", f)
	}
	if err := b.serving(ctx, i, func(s *server) error { return b.fillList(ctx, i, s) }); err != nil {
		return err
	}
	// Use another server, so that its memory is that of the list.
	if err := b.serving(ctx, i, func(s *server) error { return b.readList(ctx, i, d, s) }); err != nil {
		return err
	}
	return b.serving(ctx, i, func(s *server) error {
		c := calls[0]
		_, err := b.loaded(ctx, d, s, fmt.Sprintf("%s, new users beside %s others", c.what, number(float64(b.rows))), http.StatusCreated, c.new(i.key), c.new(i.key))
		return err
	})
}

func (b *bench) importOnce(ctx context.Context, i installation, file, counted string) (figure, error) {
	start := time.Now()
	command := i.tocsin(ctx, "import", "users", file, "--org", organization, "-o", "json")
	printed, peak, err := command.output(nil)
	took := time.Since(start)
	if err != nil {
		return figure{}, err
	}
	var report map[string]any
	if err := json.Unmarshal(printed, &report); err != nil {
		return figure{}, err
	}
	if report[counted] != float64(b.rows) {
		return figure{}, fmt.Errorf("the import was to report %d rows %s: %s", b.rows, counted, printed)
	}
	used := command.ProcessState.UserTime() + command.ProcessState.SystemTime()
	return figure{tocsin: perRow(b.rows, took, used), peak: peak}, nil
}

// fillList adds the first imported people to the list.
func (b *bench) fillList(ctx context.Context, i installation, s *server) error {
	const atOnce = 10_000 // as many as one call takes
	start := time.Now()
	for first := 1; first <= b.list; first += atOnce {
		var emails []string
		for n := first; n <= min(b.list, first+atOnce-1); n++ {
			emails = append(emails, importedEmail(n))
		}
		body, err := json.Marshal(emails)
		if err != nil {
			return err
		}
		if _, _, err := i.call(ctx, s, http.MethodPost, i.listPath+"add/", bytes.NewReader(body)); err != nil {
			return err
		}
	}
	b.say("  %d members added to a list in %s", b.list, time.Since(start).Round(time.Millisecond))
	return nil
}

// readList measures the rate of the members of the list. It also measures the query alone and the
// answer alone.
func (b *bench) readList(ctx context.Context, i installation, d database, s *server) error {
	size, times := 0, max(1, int(b.length/time.Second))
	var all [3]time.Duration // the query alone, the answer alone, and the real one
	for range times {
		for n, read := range []func() error{
			func() error { return d.scanList(ctx, b.list) },
			func() (err error) { _, err = i.members(ctx, b.floor, b.list); return err },
			func() (err error) { size, err = i.members(ctx, s, b.list); return err },
		} {
			start := time.Now()
			if err := read(); err != nil {
				return err
			}
			all[n] += time.Since(start)
		}
	}
	peak := s.peak()
	rate := func(d time.Duration) sample { return sample{rate: float64(size) * float64(times) / 1e6 / d.Seconds()} }
	what := fmt.Sprintf("GET %s members of a list", number(float64(b.list)))
	b.result(what+"; floor: the query alone", d, "MB/s", figure{tocsin: rate(all[2]), floor: rate(all[0]), peak: peak})
	b.result(what+"; floor: the answer alone", d, "MB/s", figure{tocsin: rate(all[2]), floor: rate(all[1]), peak: peak})
	return nil
}

// perRow returns the sample of a measurement of many rows.
func perRow(rows int, took, used time.Duration) sample {
	return sample{rate: float64(rows) / took.Seconds(), processor: used / time.Duration(rows)}
}

// writePeople writes the file to import.
func writePeople(path string, rows int) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	fmt.Fprintln(w, "email,first_name,last_name,custom__external_id")
	for n := 1; n <= rows; n++ {
		fmt.Fprintf(w, "%s,First%d,Last%d,ext-%d\n", importedEmail(n), n, n, n)
	}
	return errors.Join(w.Flush(), f.Close())
}
