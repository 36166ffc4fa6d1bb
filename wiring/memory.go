package wiring

import (
	"os"
	"runtime/debug"
)

// How a process that stays collects its garbage. gcPercent lets the heap grow to four times what
// lives in it, which is little: that costs some twenty megabytes and spares a tenth of the
// processor. memoryGoal is from where on the garbage is collected as often as that takes, up to
// half of the processor: usually a quarter of it is needed.
const (
	gcPercent  = 300
	memoryGoal = 256 << 20
)

// collectSeldom sets that up; the variables GOGC and GOMEMLIMIT have their way.
func collectSeldom() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryGoal)
	}
}
