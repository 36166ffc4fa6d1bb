// Command tally reads the output of `go test -json` and prints what `go test` prints without -json.
// At the end it prints the slowest packages and tests, and the number of tests, in total and on
// each database.
//
//	go test -json ./... | tally [-want sqlite,postgres]
//
// It fails if a package failed or did not finish, if a test was skipped, if no test ran, and if no
// test ran on a wanted database. It does not depend on the exit status of go test. A test ran on a
// database if a part of its name begins with the name of the database: TestStore/sqlite/users,
// TestStore/PostgreSQL/users.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
)

// slowest is how many of the slowest packages and tests are named.
const slowest = 20

func main() {
	want := flag.String("want", "", "databases, separated by commas, each of which must have been tested on")
	flag.Parse()
	var databases []string
	if *want != "" {
		databases = strings.Split(*want, ",")
	}
	t := newTally(os.Stdout, databases)
	if err := t.read(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "tally:", err)
		os.Exit(1)
	}
	t.rank(slowest)
	if !t.summarise() {
		os.Exit(1)
	}
}
