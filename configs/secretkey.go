package configs

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"unicode"
)

const secretKeySize = 32

// SecretKey is the installation's secret key. It prints masked; the zero value is no key.
type SecretKey struct {
	bytes *string // a pointer to a string for the same reason as in [Database]
}

// IsZero reports whether there is no key.
func (k SecretKey) IsZero() bool { return k.bytes == nil }

// Bytes returns a copy of the key; nil when there is none.
func (k SecretKey) Bytes() []byte {
	if k.IsZero() {
		return nil
	}
	return []byte(*k.bytes)
}

// String returns `***`, or nothing when there is no key.
func (k SecretKey) String() string {
	if k.IsZero() {
		return ""
	}
	return masked
}

// Format prints the masked key, whatever the verb.
func (k SecretKey) Format(f fmt.State, _ rune) { fmt.Fprint(f, k.String()) }

// MarshalText returns the masked key.
func (k SecretKey) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// MissingKeyFile returns the path of the file that EnsureSecretKey would create; empty when it
// would create none.
func (c Config) MissingKeyFile() string {
	if !c.SecretKey.IsZero() || c.Database.InMemory() || c.Database.Dialect() != SQLite {
		return ""
	}
	path := c.keyFile()
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	return path
}

// keyFile is where a SQLite database has its key when none is configured.
func (c Config) keyFile() string { return c.Database.Path() + ".key" }

// EnsureSecretKey returns the configured key. Without one, a SQLite database has its key in a file
// beside it, PATH.key. If that file is missing, EnsureSecretKey creates it and its folder, and made
// is its path. Processes that start at the same time get the same key, and a process that dies
// leaves no incomplete key file. A database in memory gets a new key each time. A key file that
// others may access is refused. Its group may, because orchestrators give volumes to a group.
func (c Config) EnsureSecretKey() (key SecretKey, made string, err error) {
	switch {
	case !c.SecretKey.IsZero():
		return c.SecretKey, "", nil
	case c.Database.InMemory():
		return newSecretKey(), "", nil
	case c.Database.Dialect() != SQLite:
		return SecretKey{}, "", errors.New("configs: secret_key is not configured")
	}
	path := c.keyFile()
	key, err = readKeyFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		key, made, err = makeKeyFile(path)
	}
	if err != nil {
		return SecretKey{}, "", fmt.Errorf("secret key: %w", err)
	}
	return key, made, nil
}

func readKeyFile(path string) (SecretKey, error) {
	info, err := os.Stat(path)
	if err != nil {
		return SecretKey{}, err
	}
	if !info.Mode().IsRegular() {
		return SecretKey{}, fmt.Errorf("%s is no regular file", path)
	}
	// Windows has no such bits and reports all of them as set.
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o007 != 0 {
		return SecretKey{}, fmt.Errorf("%s is open to everyone: run chmod 600 on it", path)
	}
	data, err := readFile(path)
	if err != nil {
		return SecretKey{}, err
	}
	key, err := parseSecretKey(strings.TrimSpace(string(data)))
	if err != nil || key.IsZero() {
		return SecretKey{}, fmt.Errorf("%s does not hold 32 bytes in hex: restore it from a backup", path)
	}
	return key, nil
}

// makeKeyFile writes a new key to a temporary file and creates a hard link to it at the path. The
// link is atomic, and fails if another process has created the file. Then makeKeyFile returns the
// key of that file, and made is empty.
func makeKeyFile(path string) (key SecretKey, made string, err error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return SecretKey{}, "", err
	}
	key = newSecretKey()
	draft, err := writeTemp(dir, filepath.Base(path), hex.EncodeToString(key.Bytes())+"\n")
	if err != nil {
		return SecretKey{}, "", err
	}
	defer os.Remove(draft)
	err = os.Link(draft, path)
	if errors.Is(err, fs.ErrExist) {
		key, err = readKeyFile(path)
		return key, "", err
	}
	if err != nil {
		return SecretKey{}, "", fmt.Errorf("cannot be stored beside the database, configure secret_key instead: %w", err)
	}
	syncDir(dir)
	return key, path, nil
}

// writeTemp writes a file that only its owner can read, and syncs it to disk.
func writeTemp(dir, base, content string) (path string, err error) {
	f, err := os.CreateTemp(dir, base+".*.tmp")
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(content)
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), err
}

// syncDir makes a new name in a folder durable. Some file systems cannot sync a folder, so errors
// are ignored.
func syncDir(dir string) {
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
}

func newSecretKey() SecretKey {
	data := make([]byte, secretKeySize)
	rand.Read(data) // It never fails: it crashes the program instead.
	return SecretKey{bytes: new(string(data))}
}

// parseSecretKeys parses any number of keys. In a file each may be on its own line.
func parseSecretKeys(text string) ([]SecretKey, error) {
	var keys []SecretKey
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || unicode.IsSpace(r) }) {
		key, err := parseSecretKey(part)
		if err != nil {
			return nil, errors.New("must be keys of 32 bytes in hex, not all zeros, separated by commas or white space")
		}
		keys = append(keys, key)
	}
	return keys, nil
}

func parseSecretKey(text string) (SecretKey, error) {
	if text == "" {
		return SecretKey{}, nil
	}
	data, err := hex.DecodeString(text)
	if err != nil || len(data) != secretKeySize {
		return SecretKey{}, errors.New("must be 32 bytes in hex: 64 characters, for example the output of `openssl rand -hex 32`")
	}
	if !slices.ContainsFunc(data, func(b byte) bool { return b != 0 }) {
		return SecretKey{}, errors.New("must not be all zeros")
	}
	return SecretKey{bytes: new(string(data))}, nil
}
