package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// event is what `go test -json` says in a line; see `go doc test2json`.
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
	Elapsed float64 // in seconds, when something ends
}

// result is the result of a test or a package.
type result string

const (
	unfinished result = ""
	passed     result = "pass"
	failed     result = "fail"
	skipped    result = "skip"
)

// suite is a package under test. The outputs of its tests are kept until it ends: `go test` shows
// them only when the package fails.
type suite struct {
	result result
	took   float64 // in seconds
	tests  map[string]*test
	output []string // the package's own
	order  []*test
}

type test struct {
	name   string
	result result
	took   float64 // in seconds
	parent bool    // has subtests, which are counted in its place
	output []string
}

type tally struct {
	out       io.Writer
	databases []string
	suites    map[string]*suite
}

func newTally(out io.Writer, databases []string) *tally {
	return &tally{out: out, databases: databases, suites: map[string]*suite{}}
}

// read takes in all of in. Lines that are no events, such as the words of a tool that failed before
// the tests began, are passed on.
func (t *tally) read(in io.Reader) error {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) == nil && e.Action != "" {
				t.take(e)
			} else {
				t.print(string(line))
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (t *tally) take(e event) {
	if e.Package == "" { // the compiler speaking: build-output, build-fail
		t.print(e.Output)
		return
	}
	s, known := t.suites[e.Package]
	if !known {
		s = &suite{tests: map[string]*test{}}
		t.suites[e.Package] = s
	}
	if e.Test != "" {
		s.take(e)
		return
	}
	switch e.Action {
	case "output":
		s.output = append(s.output, e.Output)
	case "pass", "fail", "skip":
		s.result, s.took = result(e.Action), e.Elapsed
		t.show(s)
	}
}

func (s *suite) take(e event) {
	c, known := s.tests[e.Test]
	if !known {
		c = &test{name: e.Test}
		s.tests[e.Test] = c
		s.order = append(s.order, c)
		if i := strings.LastIndexByte(e.Test, '/'); i > 0 && s.tests[e.Test[:i]] != nil {
			s.tests[e.Test[:i]].parent = true
		}
	}
	switch e.Action {
	case "output":
		c.output = append(c.output, e.Output)
	case "pass", "fail", "skip":
		c.result, c.took = result(e.Action), e.Elapsed
	}
}

// show prints what `go test` prints of a package that has ended: its last line when it passed, with
// the output of the tests that did not pass when it failed.
func (t *tally) show(s *suite) {
	if s.result != failed {
		for _, line := range s.output {
			if strings.HasPrefix(line, "ok  \t") || strings.HasPrefix(line, "?   \t") {
				t.print(line)
			}
		}
		return
	}
	// A package that fails without a failing test may have said why in any of them: a data race
	// between tests, an exit out of the middle.
	everything := !slices.ContainsFunc(s.order, func(c *test) bool { return c.result == failed })
	for _, c := range s.order {
		if everything || c.result == failed || c.result == unfinished {
			for _, line := range c.output {
				if !strings.HasPrefix(line, "=== ") { // which test starts, pauses, goes on
					t.print(line)
				}
			}
		}
	}
	for _, line := range s.output {
		t.print(line)
	}
}

// summarise prints the counts and reports whether the run is a success.
func (t *tally) summarise() bool {
	counts := map[result]int{}
	on := map[string]int{}
	var complaints []string
	for _, name := range slices.Sorted(maps.Keys(t.suites)) {
		s := t.suites[name]
		if s.result == failed {
			complaints = append(complaints, name+" failed")
		}
		if s.result == unfinished {
			s.result = failed // so that all it said is shown
			t.show(s)
			complaints = append(complaints, name+" did not finish")
		}
		for _, c := range s.order {
			if c.parent {
				continue
			}
			counts[c.result]++
			if c.result == skipped {
				complaints = append(complaints, name+": "+c.name+" was skipped")
			}
			for _, database := range t.databases {
				if c.result != skipped && ranOn(c.name, database) {
					on[database]++
				}
			}
		}
	}
	tested := len(slices.DeleteFunc(slices.Collect(maps.Values(t.suites)), func(s *suite) bool { return len(s.order) == 0 }))
	total := counts[passed] + counts[failed] + counts[unfinished]
	if total == 0 {
		complaints = append(complaints, "nothing was tested")
	}
	t.print(fmt.Sprintf("\n%d tests in %d packages: %d passed, %d failed, %d skipped", total, tested,
		counts[passed], counts[failed]+counts[unfinished], counts[skipped]))
	for _, database := range t.databases {
		t.print(fmt.Sprintf("; %d on %s", on[database], database))
		if on[database] == 0 {
			complaints = append(complaints, "no test ran on "+database)
		}
	}
	t.print("\n")
	for _, complaint := range complaints {
		t.print("FAIL: " + complaint + "\n")
	}
	return len(complaints) == 0
}

func ranOn(test, database string) bool {
	return strings.Contains(strings.ToLower(test), "/"+database)
}

func (t *tally) print(s string) {
	fmt.Fprint(t.out, s)
}
