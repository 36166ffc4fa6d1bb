package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	startLimit = time.Minute
	stopLimit  = time.Minute
	// lookEvery is how often the peak memory of a process is read. It never shrinks, so only an
	// increase between the last reading and the end of the process is missed.
	lookEvery = 10 * time.Millisecond
)

// process is a started program.
type process struct {
	*exec.Cmd
	complaint bytes.Buffer
}

// newProcess prepares a program with only these variables and those for temporary files.
func newProcess(ctx context.Context, path string, environ []string, args ...string) *process {
	p := &process{Cmd: exec.CommandContext(ctx, path, args...)}
	p.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "TOCSIN_") && !strings.HasPrefix(v, "TOCSIN_TEST_") })
	p.Env = append(p.Env, environ...)
	p.Stderr = &p.complaint
	p.Cancel = func() error { return p.Process.Signal(syscall.SIGTERM) }
	p.WaitDelay = stopLimit
	return p
}

// finish waits for the end of a started process, and returns its peak memory.
func (p *process) finish() (peak int64, err error) {
	ended := make(chan error, 1)
	go func() { ended <- p.Wait() }()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		peak = max(peak, p.peak())
		select {
		case err := <-ended:
			if err != nil {
				err = fmt.Errorf("%s: %w\n%s", strings.Join(p.Args, " "), err, bytes.TrimSpace(p.complaint.Bytes()))
			}
			if peak == 0 {
				peak = p.peakAtEnd()
			}
			return peak, err
		case <-look.C:
		}
	}
}

// terminate ends a process, also one that ignores the signal.
func (p *process) terminate() error {
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	_, err := p.finish()
	if status, ok := p.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() && status.Signal() == syscall.SIGTERM {
		return nil
	}
	return err
}

// output runs the process to its end and returns its output.
func (p *process) output(in io.Reader) (printed []byte, peak int64, err error) {
	var out bytes.Buffer
	p.Stdin, p.Stdout = in, &out
	if err := p.Start(); err != nil {
		return nil, 0, err
	}
	peak, err = p.finish()
	return out.Bytes(), peak, err
}

// peak returns the peak memory of the process in bytes; 0 if the system does not report it.
func (p *process) peak() int64 {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(p.Process.Pid) + "/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if value, found := strings.CutPrefix(line, "VmHWM:"); found {
			kilobytes, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			return kilobytes << 10
		}
	}
	return 0
}

// processor returns the CPU time of the process so far; 0 if the system does not report it.
func (p *process) processor() time.Duration {
	const utime, stime = 11, 12 // counted from behind the name, which may hold anything
	text, err := os.ReadFile("/proc/" + strconv.Itoa(p.Process.Pid) + "/stat")
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if err != nil || len(fields) <= stime {
		return 0
	}
	ticks := int64(0)
	for _, field := range []int{utime, stime} {
		n, err := strconv.ParseInt(fields[field], 10, 64)
		if err != nil {
			return 0
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / 100 // what Linux calls a tick, everywhere
}

// ownProcessor returns the CPU time of this process so far.
func ownProcessor() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// peakAtEnd returns the peak memory of a process that has ended. On Linux it is only the second
// choice, because a process inherits the figure of its parent.
func (p *process) peakAtEnd() int64 {
	usage, ok := p.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return usage.Maxrss
	}
	return usage.Maxrss << 10
}

// server is a process with a listener.
type server struct {
	*process
	address string
	end     context.CancelFunc
}

// startServer starts a process with the variables that environ returns for an address, and waits
// until it is ready.
func startServer(ctx context.Context, path string, environ func(address string) []string, args ...string) (*server, error) {
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	s := &server{process: newProcess(ctx, path, environ(address), args...), address: address, end: cancel}
	if err := s.Start(); err != nil {
		cancel()
		return nil, err
	}
	if err := s.ready(ctx); err != nil {
		_ = s.stop() // Why it did not get ready says more.
		return nil, fmt.Errorf("%w\n%s", err, bytes.TrimSpace(s.complaint.Bytes()))
	}
	return s, nil
}

func (s *server) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	again := time.NewTicker(lookEvery)
	defer again.Stop()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.address+"/readyz", http.NoBody)
		if err != nil {
			return err
		}
		answer, err := http.DefaultTransport.RoundTrip(request)
		if err == nil {
			_ = answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return nil
			}
			err = fmt.Errorf("/readyz answers %s", answer.Status)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the server does not get ready: %w", err)
		case <-again.C:
		}
	}
}

// stop ends the server.
func (s *server) stop() error {
	defer s.end()
	if err := s.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	_, err := s.finish()
	return err
}

func freeAddress(ctx context.Context) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
