// Command tocsin is the notification service and the tools to look after it: `tocsin help` lists
// them.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	_ "time/tzdata" // For machines and images without time zones.

	_ "golang.org/x/crypto/x509roots/fallback" // For machines and images without certificates of authorities.

	"github.com/tocsin/tocsin/wiring"
)

// version is set when a release is built (-ldflags "-X main.version=…").
var version = "development"

// leastProcs is how many threads run Go code at least. SQLite's statements and a dry run hold
// theirs for milliseconds. On few processors the kernel shares these better between threads than
// the runtime between goroutines: a short request does not wait until a long one is done.
const leastProcs = 8

func main() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(max(leastProcs, runtime.GOMAXPROCS(0)))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// Once the first signal is being heeded, a second one ends the program at once.
	context.AfterFunc(ctx, stop)
	program := wiring.NewProgram(version, wiring.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, os.Environ())
	os.Exit(program.Run(ctx, os.Args[1:]))
}
