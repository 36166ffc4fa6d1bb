package browser_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/stretchr/testify/require"
)

// someone is a person of a world.
type someone struct{ first, last, email, team string }

var (
	firstNames = []string{"Ada", "Grace", "Alan", "Edsger", "Barbara", "Donald", "Radia", "Tim", "Hedy", "Niklaus", "Karen", "Dennis"}
	lastNames  = []string{"Lovelace", "Hopper", "Turing", "Dijkstra", "Liskov", "Knuth", "Perlman", "Berners-Lee", "Lamarr", "Wirth", "Jones", "Ritchie"}
	teams      = []string{"Sales", "Support", "Warehouse"}
)

// person is the i-th person of a world; no two are equal.
func person(i int) someone {
	p := someone{first: firstNames[i%len(firstNames)], last: lastNames[(i+i/len(firstNames))%len(lastNames)], team: teams[i%len(teams)]}
	p.email = strings.ToLower(p.first + "." + p.last)
	if i >= len(firstNames)*len(lastNames) {
		p.email += fmt.Sprint(i)
	}
	p.email += "@example.com"
	return p
}

// file writes a file that a person could choose and returns its path.
func (w *world) file(name, content string) string {
	w.Helper()
	path := filepath.Join(w.TempDir(), name)
	require.NoError(w, os.WriteFile(path, []byte(content), 0o600))
	return path
}
