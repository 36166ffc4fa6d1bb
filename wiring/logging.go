package wiring

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"

	"github.com/mattn/go-isatty"

	"github.com/tocsin/tocsin/adapters/cli"
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

// logFatal logs the error that ends a server or a worker, as one line, and returns cli.ErrLogged.
// It returns the error itself if there is no logger, or if the process was told to end.
func logFatal(ctx context.Context, log *slog.Logger, err error) error {
	if err == nil || log == nil || ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		return err
	}
	log.Error("ended by an error", "error", err)
	return cli.ErrLogged
}

func isTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	return ok && isatty.IsTerminal(file.Fd())
}
