package wiring_test

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/wiring"
)

// logged collects a log, and signals when the server listens.
type logged struct {
	bytes.Buffer

	listens func()
}

func (l *logged) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte(`"listening"`)) {
		l.listens()
	}
	return l.Buffer.Write(line)
}

func TestServeWarnsWithoutHTTPS(t *testing.T) {
	t.Parallel()
	const warning = "because nothing says that browsers use https"
	for name, c := range map[string]struct {
		args  []string
		warns bool
	}{
		"Nothing":   {nil, true},
		"HTTPS":     {[]string{"--base-url", "https://tocsin.example"}, false},
		"HTTP":      {[]string{"--base-url", "http://tocsin.example"}, false},
		"ByProxies": {[]string{"--trusted-proxies", "127.0.0.1"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			log := &logged{listens: cancel}
			program := wiring.NewProgram("test", wiring.Streams{In: strings.NewReader(""), Out: io.Discard, Err: log}, newInstallation(t).environ)
			require.Zero(t, program.Run(ctx, append([]string{"serve"}, c.args...)), log.String())
			assert.Contains(t, log.String(), `"listening"`)
			assert.Equal(t, c.warns, strings.Contains(log.String(), warning), log.String())
		})
	}
}
