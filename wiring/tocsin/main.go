// Command tocsin is the notification service and the tools to look after it: `tocsin help` lists them.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/tocsin/tocsin/wiring"
)

// version is set when a release is built (-ldflags "-X main.version=…").
var version = "development"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// Once the first signal is being heeded, a second one ends the program at once.
	context.AfterFunc(ctx, stop)
	program := wiring.NewProgram(version, wiring.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, os.Environ())
	os.Exit(program.Run(ctx, os.Args[1:]))
}
