package wiring

import (
	"os"
	"runtime/debug"
)

// Garbage collection of a long-running process. gcPercent lets the heap grow to three times its
// live size, which is some twenty megabytes: more saves a few percent of the CPU time and takes a
// quarter more memory. Beyond memoryGoal the collector runs as often as needed, with up to half of
// the CPU: usually a quarter suffices.
const (
	gcPercent  = 200
	memoryGoal = 256 << 20
)

// collectSeldom applies that; the variables GOGC and GOMEMLIMIT take precedence.
func collectSeldom() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryGoal)
	}
}

// releaseStart returns the memory to the system that only the start needed, such as the sources of
// the console's pages.
func releaseStart() { debug.FreeOSMemory() }
