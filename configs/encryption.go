package configs

import (
	"errors"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
)

// Encryption configures the server's own TLS: with files, or with certificates from ACME. The zero
// value means no TLS.
type Encryption struct {
	CertFile string // PEM, the server's own certificate first
	KeyFile  string // PEM

	ACMEHosts     []string // in lower case; none: no ACME
	ACMEEmail     string   // may be empty
	ACMEDirectory string   // an https URL
	ACMEFolder    string   // where certificates are stored
}

// On reports whether connections are encrypted.
func (e Encryption) On() bool { return e.CertFile != "" || len(e.ACMEHosts) > 0 }

// unixPrefix is the prefix of a unix socket's address; its path follows.
const unixPrefix = "unix:"

// maxSocket is the length of the longest path of a unix socket, in bytes: the limit of all systems.
const maxSocket = 100

// listenAddress parses host:port, or a unix socket.
func listenAddress(text string) (string, error) {
	path, socket := strings.CutPrefix(text, unixPrefix)
	if !socket {
		return hostPort(text)
	}
	if !filepath.IsAbs(path) || filepath.Clean(path) != path || len(path) > maxSocket || strings.ContainsRune(path, 0) {
		return "", errors.New("must name a unix socket by its absolute path of at most 100 bytes, for example unix:/run/tocsin/tocsin.sock")
	}
	return text, nil
}

// ListenOn returns the network and the address that the server listens on: tcp and host:port, or
// unix and a path.
func (c Config) ListenOn() (network, address string) {
	if path, socket := strings.CutPrefix(c.Listen, unixPrefix); socket {
		return "unix", path
	}
	return "tcp", c.Listen
}

// path parses the path of a file or a folder.
func path(text string) (string, error) {
	if len(text) > 4096 || strings.ContainsAny(text, "\x00\r\n") {
		return "", errors.New("must be the path of a file, in one line of at most 4096 bytes")
	}
	return text, nil
}

// maxHosts is how many hosts get certificates: authorities limit how many they issue per week.
const maxHosts = 20

func acmeHosts(text string) ([]string, error) {
	d, err := destinations(text)
	if err != nil || len(d.Networks) > 0 || len(d.Hosts) > maxHosts || slices.ContainsFunc(d.Hosts, func(h string) bool { return !strings.Contains(h, ".") }) {
		return nil, errors.New("must be at most 20 host names, for example notify.example.org")
	}
	return d.Hosts, nil
}

func email(text string) (string, error) {
	before, after, found := strings.Cut(text, "@")
	if text != "" && (!found || before == "" || after == "" || len(text) > 254 || strings.ContainsAny(text, " ,;<>\t\r\n")) {
		return "", errors.New("must be an e-mail address, for example operations@example.org")
	}
	return text, nil
}

func acmeDirectory(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
		return "", errors.New("must be the https URL of an ACME directory, for example https://acme-v02.api.letsencrypt.org/directory")
	}
	return u.String(), nil
}

// reconcileEncryption checks the settings of TLS that belong together.
func (c *Config) reconcileEncryption(found *Error) {
	e := c.Encryption
	required := func(name, with string) {
		if !found.about(name) {
			found.add(name, c.origin(name), "is required with "+with)
		}
	}
	switch {
	case e.CertFile != "" && e.KeyFile == "":
		required("tls_key_file", "tls_cert_file")
	case e.KeyFile != "" && e.CertFile == "":
		required("tls_cert_file", "tls_key_file")
	}
	if e.CertFile != "" && len(e.ACMEHosts) > 0 {
		found.add("acme_hosts", c.origin("acme_hosts"), "must be empty when tls_cert_file is set: certificates come from one place")
	}
	if len(e.ACMEHosts) > 0 && e.ACMEFolder == "" {
		required("acme_folder", "acme_hosts")
	}
	if e.On() && strings.HasPrefix(c.Listen, unixPrefix) {
		found.add("listen", c.origin("listen"), "must be host:port when the server encrypts its connections: those by a unix socket are not encrypted")
	}
}
