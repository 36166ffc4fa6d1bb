package importer_test

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/tracing"
	"github.com/tocsin/tocsin/app/importer"
	spans "github.com/tocsin/tocsin/test/collector"
)

// TestTraces checks that an import and its undo are spans, that each chunk is a trace of its own
// linked to them, and that no span contains data of the file.
func TestTraces(t *testing.T) {
	t.Parallel()
	c := spans.New(t)
	tracer, err := tracing.New(tracing.Settings{Endpoint: c.URL + "/v1/traces", Ratio: 1}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	b := newFixture(t, 1<<20)
	i := importer.New(b.store, b.clock, slog.New(slog.DiscardHandler), importer.Settings{Lease: lease, Tracer: tracer})
	job := b.uploaded(acme, "email\nada@secret.example\nbob@secret.example\n")
	require.True(t, i.WorkOnce(t.Context()))
	require.NoError(t, b.jobs.Start(t.Context(), clerk, acme, job.ID))
	require.True(t, i.WorkOnce(t.Context()))
	require.NoError(t, b.jobs.Undo(t.Context(), clerk, acme, job.ID))
	require.True(t, i.WorkOnce(t.Context()))
	require.NoError(t, tracer.Close(t.Context()))
	var states []string
	works, chunks := map[string]string{}, 0
	for _, s := range c.Named("import") {
		states = append(states, s.About["tocsin.import.state"])
		works[s.ID] = s.Trace
	}
	assert.ElementsMatch(t, []string{"checking", "running", "undoing"}, states)
	for _, s := range c.Named("import chunk") {
		chunks++
		assert.Empty(t, s.Parent)
		assert.Len(t, s.Links, 1)
		assert.Contains(t, works, s.Links[0])
		assert.NotEqual(t, works[s.Links[0]], s.Trace)
	}
	assert.Equal(t, 4, chunks, "one that is checked, one that is written, one that is undone, and one that finds nothing more")
	for _, s := range c.Spans() {
		assert.False(t, s.Failed, s.Name)
		for about, value := range s.About {
			assert.NotContains(t, value, "secret.example", "%s of %s", about, s.Name)
		}
	}
}
