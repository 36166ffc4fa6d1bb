package chaos_test

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/test/pgtest"
)

// TestKillTheCopy kills `tocsin copy` with kill -9, again and again, and starts it again.
func TestKillTheCopy(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, url string) {
		size := chosenSize()
		s := busy(t, size.people)
		w := newWorld(t, url, nil, s)
		w.run("", "maintenance", "on")
		target := "sqlite:" + filepath.Join(t.TempDir(), "copy.db")
		if strings.HasPrefix(url, "sqlite:") {
			target = pgtest.New(t)
		}
		copying := []string{"copy", "--to", target}
		kills, life := 0, 200*time.Millisecond
		for patient := time.Now().Add(recoveryLimit); ; {
			require.True(t, time.Now().Before(patient), "the copy comes to no end")
			var complaint bytes.Buffer
			c := command(t, w.settings, copying...)
			c.Stderr = &complaint
			require.NoError(t, c.Start())
			soon := time.AfterFunc(life, func() { _ = c.Process.Kill() })
			err := c.Wait()
			soon.Stop()
			if err == nil || kills > 0 && strings.Contains(complaint.String(), "the database is not empty") { // The last kill came too late.
				break
			}
			if c.ProcessState.ExitCode() < 0 {
				kills++
				life += life / 4
				continue
			}
			require.Contains(t, complaint.String(), "repeat the command in a moment")
		}
		t.Logf("%d people: copied after %d kills", size.people, kills)
		assert.Positive(t, kills)
		copied := slices.DeleteFunc(w.settings, func(v string) bool { return strings.HasPrefix(v, "TOCSIN_DATABASE_URL=") })
		w.settings = append([]string{"TOCSIN_DATABASE_URL=" + target}, copied...)
		assert.NotContains(t, w.run("", "verify"), "WRONG")
		w.run("", "release")
		i := w.serve()
		o := i.trigger(s)
		assert.Equal(t, all(map[string]int{"sent": size.people}), i.done(o))
		assert.Zero(t, s.repeats(t))
		i.stop()
	})
}
