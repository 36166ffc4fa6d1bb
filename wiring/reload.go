package wiring

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/tocsin/tocsin/app/watchdog"
)

// hangups calls reload for each SIGHUP until ctx ends.
func hangups(ctx context.Context, turns *watchdog.Loop, log *slog.Logger, reload func(context.Context)) {
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGHUP)
	defer signal.Stop(told)
	for {
		turns.Idle()
		select {
		case <-ctx.Done():
			return
		case <-told:
			log.Info("SIGHUP: the certificate is read again")
			reload(ctx)
		}
	}
}
