package wiring_test

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/wiring"
)

func TestProblems(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	log, newest := wiring.Watched(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})))
	log.Info("all is well")
	assert.Empty(t, newest())
	log.With("channel", 7).WithGroup("smtp").Error("it broke", "error", errors.New("nobody answers"))
	log.Warn("careful")
	found := newest()
	assert.Equal(t, []string{"warn careful", "error it broke, channel: 7, smtp.error: nobody answers"},
		[]string{found[0].Level + " " + found[0].Text, found[1].Level + " " + found[1].Text}, "the newest first")
	assert.False(t, found[0].At.IsZero())
	for _, part := range []string{"all is well", `msg="it broke" channel=7 smtp.error="nobody answers"`, "careful"} {
		assert.Contains(t, out.String(), part)
	}
	for i := range 2 * wiring.MaxProblems {
		log.Warn(fmt.Sprint(i))
	}
	assert.Len(t, newest(), wiring.MaxProblems)
	assert.Equal(t, fmt.Sprint(2*wiring.MaxProblems-1), newest()[0].Text)
}
