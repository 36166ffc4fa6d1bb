package wiring

import (
	"os"
	"runtime/debug"
)

// gcTuning says when the garbage is collected: when the heap has grown by percent, and as often as
// needed above limit, with up to half of the CPU; usually a quarter is enough.
type gcTuning struct {
	percent int
	limit   int64 // in bytes
}

// The live heap of a long-running process is about 20 MB. With 200 percent the peak is 10 to 17 MB
// higher, and the program not measurably faster. A command, such as an import, has the machine to
// itself for a while: with 250 percent an import takes 7 to 8 % less time than with 100.
var (
	longRunning = gcTuning{percent: 150, limit: 256 << 20}
	command     = gcTuning{percent: 250, limit: 128 << 20}
)

// apply sets these values, unless the variables GOGC and GOMEMLIMIT are set.
func (t gcTuning) apply() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(t.percent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(t.limit)
	}
}

// freeStartMemory returns memory to the system that only the start needed, such as the sources of
// the console's pages.
func freeStartMemory() { debug.FreeOSMemory() }
