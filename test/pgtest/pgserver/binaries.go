package pgserver

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// ErrNotInstalled means that no PostgreSQL server programs were found.
var ErrNotInstalled = errors.New("PostgreSQL's server programs (initdb, postgres) are neither in PATH nor where the usual packages put them; " +
	"install them (Debian and Ubuntu: apt-get install postgresql; Fedora: dnf install postgresql-server; " +
	"Alpine: apk add postgresql; macOS: brew install postgresql@17)")

// folders are the folders of the server's programs on common systems, one for each major version.
// They are usually not in PATH.
var folders = []string{
	"/usr/lib/postgresql/*/bin",       // Debian, Ubuntu
	"/usr/pgsql-*/bin",                // the PostgreSQL project's own RPMs
	"/usr/libexec/postgresql*",        // Alpine
	"/opt/homebrew/opt/postgres*/bin", // Homebrew on Apple silicon
	"/usr/local/opt/postgres*/bin",    // Homebrew on Intel
	"/home/linuxbrew/.linuxbrew/opt/postgres*/bin",
	"/Applications/Postgres.app/Contents/Versions/*/bin",
	"/usr/local/pgsql/bin", // built from source
}

// Find returns the folder of the server's programs: the one in PATH, else the one pg_config names,
// else the newest major version in the folders that packages use.
func Find(ctx context.Context) (string, error) {
	var candidates []string
	if program, err := exec.LookPath("postgres"); err == nil {
		if resolved, err := filepath.EvalSymlinks(program); err == nil {
			candidates = append(candidates, filepath.Dir(resolved))
		}
		candidates = append(candidates, filepath.Dir(program))
	}
	if out, err := exec.CommandContext(ctx, "pg_config", "--bindir").Output(); err == nil {
		candidates = append(candidates, strings.TrimSpace(string(out)))
	}
	var installed []string
	for _, pattern := range folders {
		found, err := filepath.Glob(pattern)
		if err != nil {
			return "", err
		}
		installed = append(installed, found...)
	}
	slices.SortStableFunc(installed, func(a, b string) int { return cmp.Compare(major(b), major(a)) })
	candidates = append(candidates, installed...)

	for _, dir := range candidates {
		if executable(filepath.Join(dir, "initdb")) && executable(filepath.Join(dir, "postgres")) {
			return dir, nil
		}
	}
	return "", ErrNotInstalled
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// major returns the last number in a path: 15 for /usr/lib/postgresql/15/bin; 0 without one.
func major(path string) int {
	numbers := strings.FieldsFunc(path, func(r rune) bool { return r < '0' || r > '9' })
	if len(numbers) == 0 {
		return 0
	}
	n, err := strconv.Atoi(numbers[len(numbers)-1])
	if err != nil {
		return 0
	}
	return n
}
