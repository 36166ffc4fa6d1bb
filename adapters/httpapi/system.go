package httpapi

import (
	_ "embed"
	"fmt"
	"net/http"
	"sync"

	"github.com/labstack/echo/v4"

	"github.com/tocsin/tocsin/adapters/httpapi/reference"
	"github.com/tocsin/tocsin/app/health"
	"github.com/tocsin/tocsin/domain/fault"
)

// Paths of the probes, whose log lines are quieter.
const (
	healthPath = "/healthz"
	readyPath  = "/readyz"
)

// document is the OpenAPI document as it is written, in YAML.
//
//go:embed openapi.yaml
var document []byte

// loadReference reads the document once for the life of the process: it is built in and never changes.
var loadReference = sync.OnceValues(func() (*reference.Reference, error) {
	return reference.New(document, "/api/openapi.json", "/api/docs/reference.css")
})

// The faults that the probes answer.
var (
	errNotReady = fault.New(fault.Unavailable, "the service is not ready")
	errNotAlive = fault.New(fault.Unavailable, "the service hangs; nothing but a restart helps")
)

type pong struct {
	Token string `json:"token"`
}

type status struct {
	Status string  `json:"status"`
	Checks []check `json:"checks,omitempty"`
}

// check is one question of readiness and its answer, as anybody may know it.
type check struct {
	Name   string `json:"name"`
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"`
}

func (a *API) ping(c call) error { return c.answer(http.StatusOK, pong{c.key.Name}) }

// liveness fails only when a restart would help, because that is what follows: never for a database that is away.
func (a *API) liveness(c call) error {
	if err := a.health.Alive(c.ctx); err != nil {
		return fmt.Errorf("%w: %w", errNotAlive, err)
	}
	return c.answer(http.StatusOK, status{Status: "ok"})
}

// readiness really asks. With `?verbose` it says which checks failed and why, in sentences of ours; what a database said is for the log.
func (a *API) readiness(c call) error {
	report := a.health.Report(c.ctx)
	var checks []check
	if c.QueryParams().Has("verbose") {
		checks = described(report)
	}
	if err := health.Verdict(report); err != nil {
		c.Set(withChecks, checks)
		return fmt.Errorf("%w: %w", errNotReady, err)
	}
	return c.answer(http.StatusOK, status{Status: "ok", Checks: checks})
}

func described(report []health.Check) []check {
	checks := make([]check, len(report))
	for i, found := range report {
		checks[i] = check{Name: found.Name, Status: "ok", Reason: found.Reason()}
		if found.Err != nil {
			checks[i].Status = "failing"
		}
	}
	return checks
}

// withChecks is where the checks of an instance that is not ready are kept for its problem document.
const withChecks = "tocsin.checks"

func (a *API) showDocument(c call) error {
	c.cacheable()
	return c.whole(http.StatusOK, echo.MIMEApplicationJSON, a.reference.JSON())
}

func (a *API) showReference(c call) error {
	c.cacheable()
	c.Response().Header().Set(echo.HeaderContentSecurityPolicy,
		"default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	return c.whole(http.StatusOK, echo.MIMETextHTMLCharsetUTF8, a.reference.HTML())
}

func (a *API) showStyle(c call) error {
	c.cacheable()
	return c.whole(http.StatusOK, "text/css; charset=utf-8", a.reference.CSS())
}

// cacheable lets browsers keep what is the same for everybody, for a short while: it changes with the next version.
func (c call) cacheable() { c.Response().Header().Set(echo.HeaderCacheControl, "public, max-age=300") }
