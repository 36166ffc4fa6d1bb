package httpapi

import (
	_ "embed"
	"fmt"
	"net/http"
	"sync"

	"github.com/labstack/echo/v4"

	"github.com/tocsin/tocsin/adapters/httpapi/reference"
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

var errNotReady = fault.New(fault.Unavailable, "the service is not ready")

type pong struct {
	Token string `json:"token"`
}

type status struct {
	Status string `json:"status"`
}

func (a *API) ping(c call) error { return c.answer(http.StatusOK, pong{c.key.Name}) }

func (a *API) health(c call) error { return c.answer(http.StatusOK, status{"ok"}) }

// readiness really asks. Why the service is not ready is for the log; strangers learn only that it is not.
func (a *API) readiness(c call) error {
	if err := a.ready(c.ctx); err != nil {
		return fmt.Errorf("%w: %w", errNotReady, err)
	}
	return c.answer(http.StatusOK, status{"ok"})
}

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
