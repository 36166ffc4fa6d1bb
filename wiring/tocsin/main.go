// Command tocsin is the notification service and its administration tools: `tocsin help` lists
// them.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	_ "time/tzdata" // For machines and images without time zones.

	_ "golang.org/x/crypto/x509roots/fallback" // For machines and images without CA certificates.

	"github.com/tocsin/tocsin/wiring"
)

// version is set when a release is built (-ldflags "-X main.version=…").
var version = "development"

// minProcs is the minimum of GOMAXPROCS. SQLite's statements and a dry run occupy a thread for
// milliseconds. On few processors the kernel schedules threads more fairly than the runtime
// schedules goroutines, so that a short request does not wait for a long one.
const minProcs = 8

func main() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(max(minProcs, runtime.GOMAXPROCS(0)))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// After the first signal, a second one ends the program at once.
	context.AfterFunc(ctx, stop)
	program := wiring.NewProgram(version, wiring.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, os.Environ())
	os.Exit(program.Run(ctx, os.Args[1:]))
}
