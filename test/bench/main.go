// Bench measures the built program by HTTP and on the command line, on SQLite and on PostgreSQL.
// Nearly each figure has its floor, the cost of the same work without Tocsin's part in it. The
// floor is measured in the same run immediately before, because figures of two machines, or of two
// times, cannot be compared. Claims are measured in this process, by the program's store.
//
//	go build -o bin/tocsin ./wiring/tocsin
//	go run ./test/bench [-runs 3] [-rows 1000000] [-list 200000] [-messages 50000]
//	    [-handoffs 200] [-users 1000000] [-deliveries 5000000] [-slow 2000] [-length 5s]
//	    [-measure api,import,upload,send,console,search,order,walls,claims,overload]
//	    [-waiting 200000] [-profiles folder]
//
// It prints a table in Markdown on standard output and its progress on standard error. PostgreSQL
// is the server of TOCSIN_TEST_POSTGRES, which must wait for the disk (`withpostgres -durable`
// provides one). If that is not set, Bench starts one.
//
// It does not check the answers in detail: the contract tests do that.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/tocsin/tocsin/test/pgtest"
	"github.com/tocsin/tocsin/test/pgtest/pgserver"
)

// options are the sizes of the measurement, and where it runs.
type options struct {
	tocsin      string // the program
	postgres    string // URL of a server; empty: one is started
	dir         string // for SQLite's files and the file to import
	measure     []string
	databases   []string
	runs        int
	rows        int // of the import, and deliveries of one trigger
	list        int // members of the list
	messages    int // of the sending
	handOffs    int // triggers one after the other, each when the message before has left
	users       int // of the organization whose pages are measured
	deliveries  int // there
	waiting     int // deliveries that wait when claims are measured
	connections int
	attackers   int           // connections of the organization that does its worst
	slow        int           // clients that send their bodies slowly
	length      time.Duration // of one measurement over HTTP
	progress    io.Writer
}

func main() {
	if floorPort := os.Getenv(floorVariable); floorPort != "" {
		exitOn(serveFloor(floorPort))
		return
	}
	if job := os.Getenv(floorMailVariable); job != "" {
		exitOn(sendFloor(context.Background(), job))
		return
	}
	if job := os.Getenv(attackVariable); job != "" {
		exitOn(runAttack(job))
		return
	}
	if os.Getenv(busyVariable) != "" {
		keepBusy()
		return
	}
	if folder := os.Getenv(profilesVariable); folder != "" {
		status, err := runTocsin(folder)
		exitOn(err)
		os.Exit(status)
	}
	o := options{postgres: os.Getenv(pgtest.ServerVariable), progress: os.Stderr}
	flag.StringVar(&o.tocsin, "tocsin", "bin/tocsin", "the program to measure")
	flag.StringVar(&o.dir, "dir", "", "folder for data, on the disk to be measured (a temporary one)")
	flag.IntVar(&o.runs, "runs", 3, "how often everything is measured; the table shows the medians")
	flag.IntVar(&o.rows, "rows", 1_000_000, "rows of the import, and recipients of one trigger")
	flag.IntVar(&o.list, "list", 200_000, "members of the list, at most rows")
	flag.IntVar(&o.messages, "messages", 50_000, "messages to send")
	flag.IntVar(&o.handOffs, "handoffs", 200, "how often the time from a trigger to its message is taken")
	flag.IntVar(&o.users, "users", 1_000_000, "users of the organization whose pages are measured")
	flag.IntVar(&o.deliveries, "deliveries", 5_000_000, "deliveries of that organization, at least users")
	flag.IntVar(&o.waiting, "waiting", 200_000, "deliveries that wait when claims are measured, each occurrence to as many as the list has members")
	flag.IntVar(&o.connections, "connections", 64, "connections of the load over HTTP")
	flag.IntVar(&o.attackers, "attackers", 64, "connections of the organization that does its worst")
	flag.IntVar(&o.slow, "slow", 2000, "clients that send their bodies slowly")
	flag.DurationVar(&o.length, "length", 5*time.Second, "length of one measurement over HTTP")
	profiles := flag.String("profiles", "", "measure Tocsin as this program contains it, and write its CPU profiles into this folder")
	measure := flag.String("measure", strings.Join(parts, ","), "what to measure, separated by commas")
	databases := flag.String("databases", sqlite+","+postgres, "databases to measure, separated by commas")
	flag.Parse()
	if *profiles != "" {
		var err error
		o.tocsin, err = os.Executable()
		exitOn(errors.Join(err, os.MkdirAll(*profiles, 0o700), os.Setenv(profilesVariable, *profiles)))
	}
	o.measure, o.databases = strings.Split(*measure, ","), strings.Split(*databases, ",")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o, os.Stdout)
	stop()
	exitOn(err)
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run measures and writes the table.
func run(ctx context.Context, o options, out io.Writer) (err error) {
	if err := o.check(); err != nil {
		return err
	}
	if o.postgres == "" && slices.Contains(o.databases, postgres) {
		server, err := pgserver.Start(ctx, pgserver.Options{Durable: true})
		if err != nil {
			return err
		}
		defer server.Stop() //nolint:errcheck // It ends with this process anyway.
		o.postgres = server.URL()
	}
	dir, err := os.MkdirTemp(o.dir, "tocsin-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	o.dir = dir
	place, err := describe(ctx, o)
	if err != nil {
		return err
	}
	b := &bench{options: o}
	err = b.measureAll(ctx)
	place.after = loadAverage()
	// Print what was measured, also after an interruption.
	return errors.Join(err, b.table.write(out, o, place))
}

func (o options) check() error {
	for _, p := range o.measure {
		if !slices.Contains(parts, p) {
			return fmt.Errorf("there is nothing called %q to measure, only %s", p, strings.Join(parts, " and "))
		}
	}
	for _, d := range o.databases {
		if d != sqlite && d != postgres {
			return fmt.Errorf("there is no database %q, only %s and %s", d, sqlite, postgres)
		}
	}
	if (slices.Contains(o.measure, partConsole) || slices.Contains(o.measure, partSearch)) && (o.users < 200 || o.deliveries < o.users) {
		return errors.New("there must be at least 200 users, and deliveries at least as many as users")
	}
	if slices.Contains(o.measure, partClaims) && o.waiting < 2*claimSize {
		return fmt.Errorf("at least %d deliveries must wait", 2*claimSize)
	}
	if o.runs < 1 || o.list < 1 || o.rows < o.list || o.messages < 1 || o.handOffs < 1 || o.connections < 1 || o.attackers < 1 || o.slow < 1 || o.length <= 0 {
		return errors.New("runs, rows, list, messages, handoffs, connections, attackers, slow and length must be positive, and list at most rows")
	}
	return nil
}
