package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"
)

// figure is one measurement with its floor, if there is one.
type figure struct {
	tocsin, floor sample
	peak          int64 // most bytes of memory that Tocsin had
}

// line has the measurements of one row of the table.
type line struct {
	what, database, unit string
	figures              []figure
}

// table collects figures.
type table struct{ lines []*line }

func (t *table) add(what, database, unit string, f figure) {
	for _, l := range t.lines {
		if l.what == what && l.database == database {
			l.figures = append(l.figures, f)
			return
		}
	}
	t.lines = append(t.lines, &line{what: what, database: database, unit: unit, figures: []figure{f}})
}

// write prints the medians in Markdown.
func (t *table) write(out io.Writer, o options, m machine) error {
	if _, err := fmt.Fprintf(out, "%s; %s. A flush to the disk takes %s. Load average before %s, after %s.\n"+
		"Medians of %d runs (in brackets: lowest to highest rate), %d connections, %s a measurement over HTTP.\n\n"+
		"| measured | database | Tocsin | floor | Tocsin / floor | p50 / p99 | floor: p50 / p99 | CPU each | floor: CPU each | peak memory |\n"+
		"|---|---|---|---|---|---|---|---|---|---|\n",
		m.hardware, m.software, m.flush.Round(time.Microsecond), m.before, m.after, o.runs, o.connections, o.length); err != nil {
		return err
	}
	for _, l := range t.lines {
		tocsin, floor := l.samples(func(f figure) sample { return f.tocsin }), l.samples(func(f figure) sample { return f.floor })
		peak := median(l.figures, func(f figure) int64 { return f.peak })
		least, ratio := "", "" // Not everything has a floor.
		if floor.middle.rate > 0 {
			least, ratio = number(floor.middle.rate), fmt.Sprintf("%.2f", tocsin.middle.rate/floor.middle.rate)
		}
		if _, err := fmt.Fprintf(out, "| %s | %s | **%s %s** (%s to %s) | %s | %s | %s | %s | %s | %s | %s |\n",
			l.what, l.database, number(tocsin.middle.rate), l.unit, number(tocsin.lowest), number(tocsin.highest),
			least, ratio, tocsin.middle.latency(), floor.middle.latency(),
			short(tocsin.middle.processor), short(floor.middle.processor), megabytes(peak)); err != nil {
			return err
		}
	}
	return nil
}

// summary combines the samples of several runs.
type summary struct {
	middle          sample // each of its figures is a separate median
	lowest, highest float64
}

func (l *line) samples(of func(figure) sample) summary {
	var all []sample
	for _, f := range l.figures {
		all = append(all, of(f))
	}
	rates := make([]float64, len(all))
	for i, s := range all {
		rates[i] = s.rate
	}
	return summary{lowest: slices.Min(rates), highest: slices.Max(rates), middle: sample{
		rate: median(all, func(s sample) float64 { return s.rate }), p50: median(all, func(s sample) time.Duration { return s.p50 }),
		p99: median(all, func(s sample) time.Duration { return s.p99 }), processor: median(all, func(s sample) time.Duration { return s.processor }),
	}}
}

// median returns the median, the lower one of an even number.
func median[S any, T cmp.Ordered](all []S, value func(S) T) T {
	values := make([]T, len(all))
	for i, s := range all {
		values[i] = value(s)
	}
	slices.Sort(values)
	return values[(len(values)-1)/2]
}

func (s sample) latency() string {
	if s.p50 == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f / %.1f ms", float64(s.p50)/1e6, float64(s.p99)/1e6)
}

// short formats a duration with few digits.
func short(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f µs", float64(d)/1e3)
}

func megabytes(bytes int64) string {
	if bytes == 0 {
		return ""
	}
	return fmt.Sprintf("%.0f MB", float64(bytes)/1e6)
}

// number formats a number with its significant digits.
func number(f float64) string {
	if f < 100 {
		return strconv.FormatFloat(f, 'f', 1, 64)
	}
	digits := strconv.FormatFloat(f, 'f', 0, 64)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
