package wiring

import (
	"os"
	"runtime/debug"
)

// The garbage collection of a long-running process. gcPercent lets the heap grow to two and a half
// times its live size, which is about 20 MB. With 200 the peak is 10 to 17 MB higher, and the
// program not measurably faster. Above memoryLimit the collector runs as often as needed, with up
// to half of the CPU; usually a quarter is enough.
const (
	gcPercent   = 150
	memoryLimit = 256 << 20
)

// tuneGC sets these values, unless the variables GOGC and GOMEMLIMIT are set.
func tuneGC() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
}

// freeStartMemory returns memory to the system that only the start needed, such as the sources of
// the console's pages.
func freeStartMemory() { debug.FreeOSMemory() }
