// Command tocsin is the notification service and the tools to look after it: `tocsin help` lists them.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/tocsin/tocsin/wiring"
)

// version is set when a release is built (-ldflags "-X main.version=…").
var version = "development"

// gcPercent lets the heap grow to four times what lives in it, which is little, before the garbage is collected: that costs some twenty
// megabytes and spares a tenth of the processor. The variable GOGC has its way.
const gcPercent = 300

// memoryGoal is from where on the garbage is collected as often as that takes, up to half of the processor: nobody expects more of a
// process that needs a tenth of it. GOMEMLIMIT has its way.
const memoryGoal = 256 << 20

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryGoal)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// Once the first signal is being heeded, a second one ends the program at once.
	context.AfterFunc(ctx, stop)
	program := wiring.NewProgram(version, wiring.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, os.Environ())
	os.Exit(program.Run(ctx, os.Args[1:]))
}
