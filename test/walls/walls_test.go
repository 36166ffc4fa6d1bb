// Package walls_test tests the isolation of organizations as one property (non-interference): an
// organization sees the same whether it is alone in an installation, or shares it with another
// organization that knows the same users and acts at random. It plays scripts of API calls and of
// browser sessions against both installations, and compares every response byte for byte. It knows
// only one rule of the service, the exception of the contract (client_test.go).
package walls_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// checks is the default number of scripts, for -rapid.checks.
const checks = "6"

func TestMain(m *testing.M) {
	flag.Parse()
	settings := map[string]string{"rapid.checks": checks, "rapid.nofailfile": "true"}
	flag.Visit(func(f *flag.Flag) { delete(settings, f.Name) })
	for name, value := range settings {
		if err := flag.Set(name, value); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

func TestNonInterference(t *testing.T) {
	t.Parallel()
	for _, database := range []string{sqlite, postgres} {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			rapid.Check(t, func(r *rapid.T) {
				script := scripts().Draw(r, "script")
				compare(t.Context(), r, database, dir, script)
			})
		})
	}
}

// compare plays a script in both installations and compares the responses.
func compare(ctx context.Context, r *rapid.T, database, dir string, script []draft) {
	quiet := enter(ctx, r, alone, database, dir)
	loud := enter(ctx, r, crowded, database, dir)
	us, also := arrive(ctx, r, quiet, ours), arrive(ctx, r, loud, ours)
	them := arrive(ctx, r, loud, theirs)
	same(r, "at the beginning", us.look(ctx), also.look(ctx))
	them.look(ctx)
	quiet.clock.Advance(loud.clock.Now().Sub(quiet.clock.Now()))
	for n, d := range script {
		if !d.Act {
			continue
		}
		s := d.step(n)
		if s.theirs {
			them.play(ctx, s)
		} else {
			want := us.play(ctx, s)
			same(r, fmt.Sprintf("step %d, %s", n, s.kind), want, also.play(ctx, d.step(n)))
		}
		require.NoError(r, quiet.passes(ctx, d.step(n)))
		require.NoError(r, loud.passes(ctx, d.step(n)))
	}
}

// tester is a test, or a run of a property.
type tester interface {
	require.TestingT
	Cleanup(end func())
	Fatalf(format string, args ...any)
}

// same fails unless both have seen the same.
func same(r tester, what string, want, got []string) {
	for k := range min(len(want), len(got)) {
		if want[k] != got[k] {
			from := 0
			for from < min(len(want[k]), len(got[k])) && want[k][from] == got[k][from] {
				from++
			}
			cut := func(text string) string { return text[max(0, min(from-200, len(text))):min(len(text), from+300)] }
			r.Fatalf("%s\n%.200s\ndiffers at byte %d\n--- alone\n%s\n--- beside another one\n%s", what, want[k], from, cut(want[k]), cut(got[k]))
		}
	}
	require.Len(r, got, len(want), what)
}

// enter opens a copy of an installation for one script.
func enter(ctx context.Context, r tester, m *master, database, dir string) *installation {
	at, giveBack, err := m.copied(ctx, database, filepath.Clean(dir))
	require.NoError(r, err)
	i, err := open(ctx, at, morning.Add(time.Hour))
	require.NoError(r, err)
	r.Cleanup(func() {
		require.NoError(r, i.store.Close())
		giveBack()
	})
	return i
}

// arrive signs in the users of a party.
func arrive(ctx context.Context, r tester, i *installation, p party) *client {
	c := &client{party: p, at: i, names: newNames(i.tables), browsers: map[string]*browser{}}
	for _, user := range []string{"eva", "oli", "vic", ""} {
		b := &browser{client: c, user: user, cookies: map[string]string{}}
		if user != "" {
			token, err := i.begin(ctx, p, user)
			require.NoError(r, err)
			b.cookies["__Host-tocsin_session"] = token
		}
		c.browsers[user] = b
	}
	return c
}
