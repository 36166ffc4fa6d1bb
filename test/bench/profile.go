package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"runtime/pprof"
	"syscall"

	"github.com/tocsin/tocsin/wiring"
)

// profilesVariable makes this program Tocsin. Its value is the folder for CPU profiles.
const profilesVariable = "TOCSIN_TEST_BENCH_PROFILES"

// runTocsin runs a command of Tocsin, writes its CPU profile into the folder, and returns its exit
// status.
func runTocsin(folder string) (status int, err error) {
	profile, err := os.CreateTemp(folder, "*.pprof")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, profile.Close()) }()
	if err := pprof.StartCPUProfile(profile); err != nil {
		return 0, err
	}
	defer pprof.StopCPUProfile()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	streams := wiring.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
	return wiring.NewProgram("bench", streams, os.Environ()).Run(ctx, os.Args[1:]), nil
}
