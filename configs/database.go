package configs

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode"
)

// Dialect names a kind of database.
type Dialect string

// The databases.
const (
	SQLite   Dialect = "sqlite"
	Postgres Dialect = "postgres"
)

// Database says which database to open. It may contain a password, and so prints masked.
type Database struct {
	dialect Dialect
	// source is a pointer so that fmt does not print it. fmt cannot call the methods of a value in
	// an unexported field, and prints the fields of the value instead. Of a pointer to a string it
	// prints only the address; of a pointer to an array it would print the elements.
	source *string
}

const memory = ":memory:"

// Dialect returns the kind of the database.
func (d Database) Dialect() Dialect { return d.dialect }

// Path returns the file of a SQLite database, as configured; empty for one in memory and for
// Postgres. It may contain any character but control characters and `?`.
func (d Database) Path() string {
	if d.dialect != SQLite || *d.source == memory {
		return ""
	}
	return *d.source
}

// InMemory reports whether it is a SQLite database that ends with the program.
func (d Database) InMemory() bool { return d.dialect == SQLite && *d.source == memory }

// URL returns the URL of a Postgres database, including the password; empty for SQLite.
func (d Database) URL() string {
	if d.dialect != Postgres {
		return ""
	}
	return *d.source
}

// String returns the address without its secrets.
func (d Database) String() string {
	switch d.dialect {
	case SQLite:
		return "sqlite:" + *d.source
	case Postgres:
		return maskURL(*d.source)
	}
	return ""
}

// Format prints the masked address whatever the verb.
func (d Database) Format(f fmt.State, _ rune) { fmt.Fprint(f, d.String()) }

// MarshalText returns the masked address.
func (d Database) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// ParseDatabase parses an address: sqlite:PATH or postgres://….
func ParseDatabase(text string) (Database, error) {
	d, err := parseDatabase(text)
	if err != nil {
		return d, fmt.Errorf("the database %s: %w", maskURL(text), err)
	}
	return d, nil
}

func parseDatabase(text string) (Database, error) {
	if strings.ContainsFunc(text, unicode.IsControl) {
		return Database{}, errors.New("must not contain control characters")
	}
	scheme, rest, _ := strings.Cut(text, ":")
	switch scheme {
	case "sqlite":
		return parseSQLite(rest)
	case "postgres", "postgresql":
		if u, err := url.Parse(text); err != nil || !strings.HasPrefix(rest, "//") || hasUnescapedPassword(u) {
			return Database{}, errors.New("must be a URL such as postgres://user:password@host:5432/tocsin, " +
				"with special characters of the user name and the password percent-encoded")
		}
		return Database{dialect: Postgres, source: &text}, nil
	}
	return Database{}, errors.New("must be sqlite:PATH or postgres://…")
}

// parseNotifyDatabase accepts nothing, or the address of a Postgres database.
func parseNotifyDatabase(text string) (Database, error) {
	if text == "" {
		return Database{}, nil
	}
	d, err := parseDatabase(text)
	if err == nil && d.Dialect() != Postgres {
		return Database{}, errors.New("must be postgres://…")
	}
	return d, err
}

func parseSQLite(path string) (Database, error) {
	switch {
	case path == "" || strings.HasPrefix(path, "//") || strings.HasSuffix(path, "/"):
		// Two slashes are refused because programs disagree about what sqlite:///data/x.db means.
		return Database{}, errors.New("must be sqlite:PATH, for example sqlite:data/tocsin.db or sqlite:/var/lib/tocsin/tocsin.db")
	case strings.HasPrefix(path, "file:") || strings.Contains(path, "?"):
		return Database{}, errors.New("must be sqlite:PATH with a plain path: parameters are not configurable")
	case strings.HasPrefix(path, ":") && path != memory:
		return Database{}, errors.New("must be sqlite:PATH or sqlite::memory: alone")
	}
	return Database{dialect: SQLite, source: &path}, nil
}

// hasUnescapedPassword reports whether the password of a URL is not percent-encoded: an unescaped
// `/`, `?` or `#` in it moves the rest of it, and the `@`, to another part of the parsed URL.
func hasUnescapedPassword(u *url.URL) bool {
	path := u.EscapedPath()
	name, _, _ := strings.Cut(u.RawQuery, "=")
	inPath := strings.Contains(path, "@") && (u.User == nil || strings.Count(path, "/") > 1)
	return u.Fragment != "" || inPath || u.User == nil && strings.Contains(name, "@")
}

// maskURL returns a database URL without its secrets. It masks everything after the scheme if it
// cannot tell where the password is.
func maskURL(text string) string {
	scheme, rest, _ := strings.Cut(text, ":")
	if scheme == string(SQLite) {
		return text
	}
	u, err := url.Parse(text)
	if err != nil || u.Opaque != "" || u.Fragment != "" || strings.Contains(u.Host+u.Path+u.RawQuery, "@") || !strings.HasPrefix(rest, "//") {
		return string(Postgres) + "://" + masked
	}
	var b strings.Builder
	b.WriteString(u.Scheme + "://")
	if u.User != nil {
		b.WriteString(url.User(u.User.Username()).String())
		if _, has := u.User.Password(); has {
			b.WriteString(":" + masked)
		}
		b.WriteString("@")
	}
	b.WriteString(u.Host + u.EscapedPath())
	separator := "?"
	query := u.Query()
	for _, name := range slices.Sorted(maps.Keys(query)) {
		value := masked
		if publicParameter(name) {
			value = url.QueryEscape(query.Get(name))
		}
		b.WriteString(separator + url.QueryEscape(name) + "=" + value)
		separator = "&"
	}
	return b.String()
}

// publicParameter reports whether a connection parameter is known not to be a secret.
func publicParameter(name string) bool {
	switch name {
	case "host", "port", "user", "dbname", "sslmode", "application_name", "connect_timeout", "search_path", "target_session_attrs":
		return true
	}
	return false
}
