package pgserver

import (
	"fmt"
	"os"
	"strings"
	"syscall"
)

const (
	// memoryFolder is a file system in memory on Linux.
	memoryFolder = "/dev/shm"
	// memoryWanted is how much must be free there: `make test` takes some 300 MB, and the
	// write-ahead log at most 1 GB more.
	memoryWanted = 2 << 30
)

// parentFolder returns where the server's folder belongs, or "" for the usual temporary folder.
// Tests create and drop hundreds of databases, each of a thousand files. That takes a third of the
// time in memory, so a server that need not be durable is there if there is enough memory.
func (o Options) parentFolder() string {
	var fs syscall.Statfs_t
	if o.Durable || syscall.Statfs(memoryFolder, &fs) != nil || uint64(fs.Bavail)*uint64(fs.Bsize) < memoryWanted || availableMemory() < memoryWanted { //nolint:unconvert // Types differ between systems.
		return ""
	}
	return memoryFolder
}

// availableMemory returns how many bytes of memory programs can still take, or 0 if that is
// unknown.
func availableMemory() uint64 {
	info, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	_, available, _ := strings.Cut(string(info), "MemAvailable:")
	var kib uint64
	if _, err := fmt.Sscan(available, &kib); err != nil {
		return 0
	}
	return kib << 10
}
