package configs_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/configs"
)

// FuzzFile checks that no configuration file makes Load panic, that it returns a complete
// configuration or a list of mistakes, and that no mistake repeats a value.
func FuzzFile(f *testing.F) {
	example, err := os.ReadFile("tocsin.example.yaml")
	require.NoError(f, err)
	f.Add(example)
	for _, seed := range []string{
		"", "null", "{}", "listen: :1", "listen: [", "? [a]\n: b", "- a", "a: &a [*a]", "<<: {listen: x}", "listen: *x", "listen: !!binary AA==",
		"trusted_proxies: [1, [2]]", "listen: |\n  :1\n", "--- a\n--- b", "%YAML 9.9\n---\n", "\xff\xfel\x00", "secret_key: 0x00", "\"a\\0b\": c",
		"listen: :1\nlisten: :2", "database_url: postgres://u:p@h/d", "{" + string(make([]byte, 8)), "body_limit: 9999999999999999999GiB",
	} {
		f.Add([]byte(seed))
	}
	const canary = "postgres:canary-9e1f"
	path := filepath.Join(f.TempDir(), "c.yaml")
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, extra := range []string{"", "\ndatabase_url: " + canary + "\n", "\nsecret_key: {" + canary + ": 1}\n"} {
			require.NoError(t, os.WriteFile(path, append(slices.Clip(data), extra...), 0o600))
			c, err := configs.Load(nil, []string{"TOCSIN_CONFIG=" + path})
			if err == nil {
				require.Len(t, c.Values(), len(configs.Settings()))
				require.NotEmpty(t, c.Database.Dialect())
				continue
			}
			var e *configs.Error
			require.ErrorAs(t, err, &e)
			require.NotEmpty(t, e.Mistakes)
			require.NotContains(t, err.Error(), canary)
		}
	})
}
