package wiring

import (
	"io"
	"log/slog"
	"os"

	"github.com/mattn/go-isatty"

	"github.com/tocsin/tocsin/configs"
)

// newLogger returns a logger that writes to out: text on a terminal and JSON elsewhere, unless the
// configuration sets the format. The level may change later.
func newLogger(c configs.Config, out io.Writer, level *slog.LevelVar) *slog.Logger {
	level.Set(c.LogLevel)
	options := &slog.HandlerOptions{Level: level}
	if c.LogFormat == configs.LogText || (c.LogFormat == configs.LogAuto && isTerminal(out)) {
		return slog.New(slog.NewTextHandler(out, options))
	}
	return slog.New(slog.NewJSONHandler(out, options))
}

func isTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	return ok && isatty.IsTerminal(file.Fd())
}
