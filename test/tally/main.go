// Tally reads the output of `go test -json` on standard input, prints what `go test` without -json
// prints, and adds a summary: which packages and tests were the slowest, how many tests ran, and
// how many of them on each database.
//
//	go test -json ./... | tally [-want sqlite,postgres]
//
// It fails, whatever became of the command before it in the pipe, when a package failed or did not
// finish, when nothing was tested at all, when no test ran on a database that is wanted, and when a
// test was skipped. A test ran on a database when a part of its name begins with the database's:
// TestStore/sqlite/users, TestStore/PostgreSQL/users.
//
// It knows Go's test events; of databases it knows their names only.
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
