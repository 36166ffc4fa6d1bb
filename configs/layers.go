package configs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/providers/posflag"
	"github.com/knadh/koanf/v2"
	"github.com/spf13/pflag"
)

const (
	envPrefix  = "TOCSIN_"
	testPrefix = "TOCSIN_TEST_" // of the tests
	clientURL  = "TOCSIN_URL"   // where the examples of the docs and of clients find the server
	clientKey  = "TOCSIN_KEY"   // the API key of these examples
	configEnv  = "TOCSIN_CONFIG"
	configFlag = "config"

	// maxFile is more than any configuration or secret needs, and bounds endless files.
	maxFile = 1 << 20
)

// layer is one source of settings: their texts, by the name of the setting or of its `_file`
// companion, and the place of each.
type layer struct {
	texts  *koanf.Koanf
	origin func(name string) string
}

func newLayer(p koanf.Provider, origin func(string) string) layer {
	k := koanf.New(".")
	if err := k.Load(p, nil); err != nil {
		panic(err) // Cannot happen: the providers read memory only.
	}
	return layer{texts: k, origin: origin}
}

// find returns the setting's text from the first layer that has one, else the default, and its
// origin, also with an error.
func (r row) find(layers []layer) (text, origin string, err error) {
	for _, l := range layers {
		plain, file := l.texts.Exists(r.Name), r.Secret && l.texts.Exists(r.FileName())
		switch {
		case plain && file:
			return "", l.origin(r.Name), fmt.Errorf("is set both here and in %s: remove one of them", l.origin(r.FileName()))
		case plain:
			return strings.TrimSpace(l.texts.String(r.Name)), l.origin(r.Name), nil
		case file:
			text, err = secretFile(l.texts.String(r.FileName()))
			return text, l.origin(r.FileName()), err
		}
	}
	return r.Default, "default", nil
}

// secretFile reads a secret.
func secretFile(path string) (string, error) {
	data, err := readFile(path)
	if err != nil {
		return "", fmt.Errorf("the file %s cannot be read: %w", shownPath(path), withoutPath(err))
	}
	text := strings.TrimSpace(string(data))
	if text == "" {
		return "", fmt.Errorf("the file %s is empty", shownPath(path))
	}
	return text, nil
}

// shownPath returns the path of a secret for an error. Without an existing folder it may be a
// secret in the wrong place, which must not be repeated.
func shownPath(path string) string {
	folder := filepath.Dir(path)
	if info, err := os.Stat(folder); !filepath.IsAbs(path) || folder == filepath.Dir(folder) || err != nil || !info.IsDir() {
		return "that it names"
	}
	return path
}

func flagLayer(flags *pflag.FlagSet) layer {
	if flags == nil {
		flags = pflag.NewFlagSet("", pflag.ContinueOnError)
	}
	settings := map[string]string{}
	for _, s := range Settings() {
		settings[s.Flag()] = s.Name
		if s.Secret {
			settings[fileFlag(s)] = s.FileName()
		}
	}
	delete(settings, "")
	// Without a koanf instance, the provider skips flags that were not given.
	provider := posflag.ProviderWithValue(flags, ".", nil, func(name, text string) (string, any) {
		return settings[name], text
	})
	return newLayer(provider, func(name string) string {
		return "flag --" + strings.ReplaceAll(name, "_", "-")
	})
}

// environLayer takes the variables that begin with TOCSIN_. An empty one counts as not set, because
// `KEY=${KEY:-}` in a compose file sets it so.
func environLayer(environ []string, found *Error) layer {
	known := map[string]string{configEnv: ""}
	for _, name := range settable() {
		known[envPrefix+strings.ToUpper(name)] = name
	}
	provider := env.Provider("", env.Opt{
		Prefix:      envPrefix,
		EnvironFunc: func() []string { return environ },
		TransformFunc: func(variable, text string) (string, any) {
			name, ok := known[variable]
			switch {
			case !ok && !foreign(variable, text):
				found.add(variable, "environment", "is no setting"+suggest(variable, keys(known)))
			case text == "":
				return "", nil
			}
			return name, text
		},
	})
	return newLayer(provider, func(name string) string { return "env " + envPrefix + strings.ToUpper(name) })
}

// foreign reports whether a variable has a known purpose other than a setting.
func foreign(variable, text string) bool {
	return variable == clientURL || variable == clientKey || strings.HasPrefix(variable, testPrefix) || serviceLink(variable, text)
}

// Kubernetes describes every service of a namespace to every pod in variables that begin with the
// service's name. A service named tocsin, or tocsin-something, must not prevent Tocsin from
// starting.
var (
	linkName    = regexp.MustCompile(`^TOCSIN_(\w+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$`)
	linkAddress = regexp.MustCompile(`^TOCSIN_(\w+_)?PORT=(tcp|udp|sctp)://`)
)

func serviceLink(variable, text string) bool {
	return linkName.MatchString(variable) || linkAddress.MatchString(variable+"="+text)
}

// fileLayer reads the configuration file; without a path it is empty.
func fileLayer(path, givenBy string, found *Error) layer {
	var d document
	if path != "" {
		data, err := readFile(path)
		if err == nil {
			d, err = decode(data)
		}
		if err != nil {
			found.add(configFlag, givenBy, fmt.Sprintf("%s: %v", path, withoutPath(err)))
		}
	}
	origin := func(line int) string { return fmt.Sprintf("file %s:%d", path, line) }
	for _, m := range d.mistakes {
		found.add(m.name, origin(m.line), m.message)
	}
	return newLayer(confmap.Provider(d.texts, ""), func(name string) string { return origin(d.lines[name]) })
}

// configFile returns the path of the configuration file, if there is one, and what named it.
func configFile(flags *pflag.FlagSet, environ []string) (path, givenBy string) {
	if flags != nil {
		if f := flags.Lookup(configFlag); f != nil && f.Changed {
			return f.Value.String(), "flag --" + configFlag
		}
	}
	for _, entry := range environ {
		if value, ok := strings.CutPrefix(entry, configEnv+"="); ok {
			path = value
		}
	}
	return path, "env " + configEnv
}

// settable returns the names that a configuration file may contain.
func settable() []string {
	var all []string
	for _, s := range Settings() {
		all = append(all, s.Name)
		if s.Secret {
			all = append(all, s.FileName())
		}
	}
	return all
}

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = errors.New("larger than 1MiB")
	}
	return data, err
}

// withoutPath removes the path from a file system error.
func withoutPath(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}
