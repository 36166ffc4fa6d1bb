package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/mattn/go-sqlite3"
)

// machine describes the machine of a measurement.
type machine struct {
	hardware      string
	software      string
	flush         time.Duration // one flush to the disk
	before, after string        // the system's load
}

func describe(ctx context.Context, o options) (machine, error) {
	m := machine{before: loadAverage()}
	var err error
	if m.flush, err = flushTime(o.dir); err != nil {
		return machine{}, err
	}
	m.hardware = fmt.Sprintf("%d × %s, %s of memory", runtime.NumCPU(), fieldOf("/proc/cpuinfo", "model name"), memory())
	lite, _, _ := sqlite3.Version()
	m.software = fmt.Sprintf("%s %s, %s, SQLite %s", runtime.GOOS, firstLine("/proc/sys/kernel/osrelease"), strings.Replace(runtime.Version(), "go", "Go ", 1), lite)
	if slices.Contains(o.databases, postgres) {
		version, err := postgresVersion(ctx, o.postgres)
		if err != nil {
			return machine{}, err
		}
		m.software += ", PostgreSQL " + version
	}
	return m, nil
}

func postgresVersion(ctx context.Context, server string) (version string, err error) {
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx)
	err = conn.QueryRow(ctx, `SELECT split_part(current_setting('server_version'), ' ', 1) || ', fsync ' || current_setting('fsync')
		|| ', synchronous_commit ' || current_setting('synchronous_commit') || ', shared_buffers ' || current_setting('shared_buffers')`).Scan(&version)
	return version, err
}

// flushTime returns the median time to flush a page to the disk.
func flushTime(dir string) (time.Duration, error) {
	f, err := os.Create(filepath.Join(dir, "flush"))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	took := make([]time.Duration, 200)
	page := make([]byte, 4096)
	for i := range took {
		start := time.Now()
		if _, err := f.Write(page); err != nil {
			return 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, err
		}
		took[i] = time.Since(start)
	}
	slices.Sort(took)
	return quantile(took, 50), nil
}

// loadAverage returns the load average of the last minute.
func loadAverage() string {
	load, _, _ := strings.Cut(firstLine("/proc/loadavg"), " ")
	return load
}

func memory() string {
	kilobytes, err := strconv.ParseInt(strings.TrimSuffix(fieldOf("/proc/meminfo", "MemTotal"), " kB"), 10, 64)
	if err != nil {
		return "an unknown amount"
	}
	return fmt.Sprintf("%.0f GiB", float64(kilobytes)/(1<<20))
}

func firstLine(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return "unknown"
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return line
}

// fieldOf finds `name : value` in one of the system's files.
func fieldOf(path, name string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(text)) {
		key, value, found := strings.Cut(line, ":")
		if found && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}
