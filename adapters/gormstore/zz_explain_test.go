package gormstore_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tocsin/tocsin/test/pgtest/pgserver"
)

func BenchmarkZZExplain(b *testing.B) {
	server, err := pgserver.Start(b.Context(), pgserver.Options{Durable: true})
	require.NoError(b, err)
	b.Cleanup(func() { _ = server.Stop() })
	url := server.URL()
	sep := "?"
	for _, r := range url {
		if r == '?' {
			sep = "&"
		}
	}
	url += sep + "options=-csession_preload_libraries%3Dauto_explain%20-cauto_explain.log_min_duration%3D0%20-cauto_explain.log_analyze%3Don%20-cauto_explain.log_buffers%3Don%20-cauto_explain.log_timing%3Don%20-cauto_explain.log_triggers%3Don%20-cauto_explain.log_wal%3Don"
	c := newCrowd(b, b.N, url, "pgx", server.URL())
	c.trigger(b)
	c.expand(b, b.N)
	c.work(b, 1)
	logs, _ := filepath.Glob(filepath.Join(os.TempDir(), "tocsin-postgres-*", "*"))
	b.Log(logs)
	for _, l := range logs {
		if data, err := os.ReadFile(l); err == nil && bytes.Contains(data, []byte("Query Text")) {
			os.WriteFile("/tmp/mine/pglog.txt", data, 0o644)
		}
	}
}
