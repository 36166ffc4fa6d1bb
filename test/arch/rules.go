package arch

// module is the path of this module. Imports with this prefix are ours.
const module = "github.com/tocsin/tocsin"

// layer is what one folder, and all below it, may import. Test files may import anything, except in
// the domain, because tests combine layers.
type layer struct {
	folder string
	ours   []string // our folders it may import, itself included; `*` is everything but test
	never  []string // our folders below those that it may not import after all
	pure   bool     // of the standard library: nothing that does I/O, but for what spared names
	spared []string
	// third-party modules that it may import: a list, or nil for all except the technologies below
	modules []string
}

// layers is the complete rule for imports. A folder without a layer is an error. Of several layers,
// the one with the longest folder counts.
var layers = []layer{
	// The compiler embeds files, so nothing is read when the program runs.
	{folder: "domain", ours: []string{"domain"}, pure: true, spared: []string{"embed"}, modules: []string{"golang.org/x/text", "golang.org/x/crypto", "golang.org/x/net", "github.com/nyaruka/phonenumbers", "github.com/pquerna/otp", "github.com/santhosh-tekuri/jsonschema/v6", "github.com/yuin/goldmark"}},
	{folder: "ports", ours: []string{"ports", "domain"}, pure: true, modules: []string{}},
	// Code that runs without a caller cannot return its errors, so it may log.
	{folder: "app/delivery", ours: []string{"app/delivery", "app/pace", "app/watchdog", "ports", "domain"}, pure: true, spared: []string{"log/slog"}, modules: []string{"golang.org/x/text", "golang.org/x/sync"}},
	{folder: "app/watchdog", ours: []string{"app/watchdog", "ports", "domain"}, pure: true, spared: []string{"log/slog"}, modules: []string{}},
	{folder: "app/importer", ours: []string{"app/importer", "app", "app/pace", "app/watchdog", "ports", "domain"}, pure: true, spared: []string{"log/slog"}, modules: []string{}},
	{folder: "app/indexer", ours: []string{"app/indexer", "app/pace", "app/watchdog", "ports", "domain"}, pure: true, spared: []string{"log/slog"}, modules: []string{}},
	{folder: "app/pace", ours: []string{"app/pace"}, pure: true, modules: []string{}},
	{folder: "app/backup", ours: []string{"app/backup", "ports", "domain"}, pure: true, modules: []string{}},
	{folder: "app/batch", ours: []string{"app/batch", "ports"}, pure: true, modules: []string{}},
	{folder: "app", ours: []string{"app", "ports", "domain"}, never: []string{"app/importer"}, pure: true, spared: []string{"log/slog"}, modules: []string{"golang.org/x/text", "golang.org/x/sync"}},
	{folder: "adapters/*", ours: []string{"adapters/*", "app", "ports", "domain"}},
	// Drivers connect to other hosts through adapters/outbound, which imports no driver.
	{folder: "adapters/smtp", ours: []string{"adapters/smtp", "adapters/outbound", "ports", "domain"}},
	{folder: "adapters/shoutrrr", ours: []string{"adapters/shoutrrr", "adapters/outbound", "ports", "domain"}},
	{folder: "adapters/twilio", ours: []string{"adapters/twilio", "adapters/outbound", "ports", "domain"}},
	{folder: "adapters/webhook", ours: []string{"adapters/webhook", "adapters/outbound", "ports", "domain"}},
	{folder: "adapters/listener", ours: []string{"adapters/listener"}},
	{folder: "adapters/archive", ours: []string{"adapters/archive", "domain"}},
	{folder: "adapters/gormstore/rows", ours: []string{"adapters/gormstore/rows", "ports", "domain"}, modules: []string{}},
	{folder: "adapters/tracing", ours: []string{"adapters/tracing", "ports"}},
	{folder: "adapters/sheets", ours: []string{"adapters/sheets", "domain"}},
	{folder: "adapters/webauthn", ours: []string{"adapters/webauthn", "domain"}},
	{folder: "adapters/oidc", ours: []string{"adapters/oidc", "ports", "domain"}},
	{folder: "adapters/outbound", ours: []string{"adapters/outbound", "domain"}},
	// adapters/web has what the HTTP adapters share. It imports no use case.
	{folder: "adapters/httpapi", ours: []string{"adapters/httpapi", "adapters/web", "adapters/blueprint", "app", "ports", "domain"}},
	{folder: "adapters/console", ours: []string{"adapters/console", "adapters/sheets", "adapters/web", "app", "ports", "domain"}},
	// `tocsin apply` and the API share this parser.
	{folder: "adapters/blueprint", ours: []string{"adapters/blueprint", "app", "domain"}},
	{folder: "adapters/cli", ours: []string{"adapters/cli", "adapters/blueprint", "adapters/sheets", "app", "ports", "domain"}},
	{folder: "adapters/web", ours: []string{"adapters/web", "ports", "domain"}},
	{folder: "configs", ours: []string{"configs", "domain/names"}},
	{folder: "wiring", ours: []string{"*"}},
	{folder: "test", ours: []string{"*", "test"}},
}

// impure are the packages of the standard library for input and output. The domain must not depend
// on them. A path covers the packages below it, except for those in pureAfterAll.
var (
	impure = []string{"os", "net", "syscall", "database", "log", "plugin", "embed", "expvar", "testing", "runtime/debug",
		"runtime/pprof", "runtime/trace", "html/template", "text/template"}
	pureAfterAll = []string{"net/url", "net/mail", "net/netip"}
)

// technology is a third-party module, with the packages below its path, that only some folders may
// import.
type technology struct {
	module  string
	folders []string
}

// technologies keeps each framework in its own folder, so that it can be replaced together with
// that folder. Tests may use any of them.
var technologies = []technology{
	{"github.com/labstack/echo", []string{"adapters/httpapi", "adapters/console", "adapters/web"}},
	{"github.com/klauspost/compress", []string{"adapters/httpapi", "adapters/archive", "adapters/web/static"}},
	{"github.com/spf13/cobra", []string{"adapters/cli"}},
	{"github.com/spf13/pflag", []string{"adapters/cli", "configs", "wiring"}},
	{"github.com/xuri/excelize", []string{"adapters/sheets"}},
	{"gorm.io", []string{"adapters/gormstore"}},
	{"github.com/jackc/pgx", []string{"adapters/gormstore"}},
	{"github.com/mattn/go-sqlite3", []string{"adapters/gormstore"}},
	{"github.com/pressly/goose", []string{"adapters/gormstore"}},
	{"github.com/wneessen/go-mail", []string{"adapters/smtp"}},
	{"github.com/nicholas-fedor/shoutrrr", []string{"adapters/shoutrrr"}},
	{"github.com/knadh/koanf", []string{"configs"}},
	{"golang.org/x/net/html", []string{"domain/templates"}},
	{"github.com/yuin/goldmark", []string{"domain/templates"}},
	{"github.com/pquerna/otp", []string{"domain/factors"}},
	{"github.com/go-webauthn/webauthn", []string{"adapters/webauthn"}},
	{"github.com/boombuler/barcode", []string{"adapters/console"}},
	{"github.com/coreos/go-oidc", []string{"adapters/oidc"}},
	{"github.com/go-jose/go-jose", []string{"adapters/oidc", "test/idp"}},
	{"golang.org/x/crypto/acme", []string{"adapters/listener"}},
	{"golang.org/x/oauth2", []string{"adapters/oidc"}},
	{"github.com/prometheus", []string{"adapters/metrics"}},
	{"go.opentelemetry.io", []string{"adapters/tracing"}},
	{"google.golang.org/protobuf", []string{"adapters/tracing"}},
	{"github.com/google/wire", []string{"wiring"}},
	{"github.com/golang/mock", []string{}},
	{"github.com/stretchr/testify", []string{}},
}

// drivers are the folders of drivers. dialing are the functions that they must not use for
// connections.
var (
	drivers = []string{"adapters/smtp", "adapters/shoutrrr", "adapters/twilio", "adapters/webhook"}
	dialing = []string{"net.Dial", "net.DialTimeout", "net.DialTCP", "net.DialUDP", "net.DialIP", "net.DialUnix", "net.Dialer", "tls.Dial", "tls.DialWithDialer", "tls.Dialer",
		"http.DefaultClient", "http.DefaultTransport", "http.Transport", "http.Get", "http.Head", "http.Post", "http.PostForm"}
)

// topLevel are the names that are allowed at the top of the checkout, besides those that begin with
// a dot.
var topLevel = []string{
	"app", "domain", "ports", "adapters", "wiring", "test", "configs", "go.mod", "go.sum", "Makefile",
	"README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "docs", "deploy", "clients",
	"bin", "data", // made by `make run`, never committed
}

// longestFile is the maximum number of lines of a file that is neither generated nor a test.
const longestFile = 400
