package httpapi

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/tocsin/tocsin/app/health"
	"github.com/tocsin/tocsin/app/pace"
	"github.com/tocsin/tocsin/domain/fault"
)

// Paths of the probes, which are logged at a lower level.
const (
	healthPath = "/healthz"
	readyPath  = "/readyz"
)

// The faults of the probes.
var (
	errNotReady = fault.New(fault.Unavailable, "the service is not ready")
	errNotAlive = fault.New(fault.Unavailable, "a background loop is stuck; only a restart helps")
)

type pong struct {
	Token string `json:"token"`
}

type status struct {
	Status string  `json:"status"`
	Checks []check `json:"checks,omitempty"`
}

// check is one check of readiness and its public result.
type check struct {
	Name   string `json:"name"`
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"`
}

func (a *API) ping(c call) error { return c.answer(http.StatusOK, pong{c.key.Name}) }

// liveness fails only if a restart would help, so not if the database is unavailable.
func (a *API) liveness(c call) error {
	if err := a.health.Alive(c.ctx); err != nil {
		return because(errNotAlive, err)
	}
	return c.answer(http.StatusOK, status{Status: "ok"})
}

// because adds only the text of the cause, for the log: as an error it would have a code of its
// own, such as timeout.
func because(err, cause error) error { return fmt.Errorf("%w: %s", err, cause.Error()) }

// readiness runs the checks. With `?verbose` it reports the result of each, without internal error
// messages.
func (a *API) readiness(c call) error {
	report := a.health.Report(c.ctx)
	var checks []check
	if c.QueryParams().Has("verbose") {
		checks = checksOf(report)
	}
	if err := health.Verdict(report); err != nil {
		c.Set(checksKey, checks)
		return because(errNotReady, err)
	}
	a.unready.reset()
	return c.answer(http.StatusOK, status{Status: "ok", Checks: checks})
}

// unready remembers why the instance was not ready when that was logged last.
type unready struct {
	mu     sync.Mutex
	reason string
	some   *pace.Sampler // for reasons that differ each time
}

// changed reports whether the reason should be logged.
func (u *unready) changed(reason string, now time.Time) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if reason == u.reason {
		return false
	}
	if pass, _ := u.some.Pass(now); !pass {
		return false // A later probe logs it.
	}
	u.reason = reason
	return true
}

// reset forgets the reason, because the instance is ready.
func (u *unready) reset() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.reason = ""
}

func checksOf(report []health.Check) []check {
	checks := make([]check, len(report))
	for i, found := range report {
		checks[i] = check{Name: found.Name, Status: "ok", Reason: found.Reason()}
		if found.Err != nil {
			checks[i].Status = "failing"
		}
	}
	return checks
}

// checksKey is the key of the failed checks of an instance that is not ready, for its problem
// document.
const checksKey = "tocsin.checks"
