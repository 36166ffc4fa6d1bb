// Package quotas is about how much one organization may use of what all organizations of an
// installation share. It knows the quotas, their names and how going over one is reported. It
// counts nothing itself.
package quotas

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/tocsin/tocsin/domain/fault"
)

// Name names a quota, as the setting with its default, problem documents and blueprints do.
type Name string

// The quotas.
const (
	Requests             Name = "rate_limit"              // requests a second of one API key
	OrganizationRequests Name = "organization_rate_limit" // requests a second of all API keys of an organization
	Bodies               Name = "body_rate_limit"         // bytes a second of the bodies that all API keys of an organization send
	DryRuns              Name = "dry_run_limit"           // dry runs and previews of an organization that are under way at once
	ChannelTests         Name = "channel_test_limit"      // tests of an organization's channels that are under way at once
	LargeAnswers         Name = "large_answer_limit"      // large answers that are being sent to an organization at once
	ContextSize          Name = "context_limit"           // bytes of the context of one occurrence
	Contexts             Name = "context_storage_limit"   // bytes of the contexts of all occurrences of an organization that are kept
	Channels             Name = "channel_limit"           // channels of an organization and its projects
	Keys                 Name = "key_limit"               // API keys of an organization that are neither revoked nor replaced
	Lists                Name = "list_limit"              // distribution lists of an organization's projects
	Groups               Name = "group_limit"             // groups of an organization
	Projects             Name = "project_limit"           // projects of an organization
	Applications         Name = "application_limit"       // applications of an organization's projects
	Events               Name = "event_limit"             // events of an organization's applications
	Imports              Name = "import_limit"            // imports of an organization that are under way
)

// Limits of an installation that no organization can have for itself. They are reported as quotas
// are.
const (
	AuthFailures Name = "auth_failure_limit" // failed authentications a second of one client address
	Body         Name = "body_limit"         // bytes of one request body
)

// Names returns every quota that an organization may have for itself, in the order in which they
// are documented.
func Names() []Name {
	return []Name{Requests, OrganizationRequests, Bodies, DryRuns, ChannelTests, LargeAnswers, ContextSize, Contexts, Channels, Keys, Lists, Groups, Projects, Applications, Events, Imports}
}

// Limits are the limits of quotas. A quota that is missing, or 0, has no limit.
type Limits map[Name]float64

// With returns l with the limits that own gives instead of l's.
func (l Limits) With(own Limits) Limits {
	if len(own) == 0 {
		return l
	}
	all := maps.Clone(l)
	if all == nil {
		all = Limits{}
	}
	maps.Copy(all, own)
	return all
}

// Check reports the quotas that do not exist and the limits that none can have, below a field.
func (l Limits) Check(field string) error {
	var faults fault.Fields
	for _, n := range slices.Sorted(maps.Keys(l)) {
		switch limit := l[n]; {
		case !slices.Contains(Names(), n):
			faults.Addf(field+"."+string(n), "there is no such quota")
		case math.IsNaN(limit) || limit < 0 || limit > maxLimit:
			faults.Addf(field+"."+string(n), "must be 0, which is no limit, or a number above it")
		case !n.rate() && limit != math.Trunc(limit):
			faults.Addf(field+"."+string(n), "must be a whole number")
		}
	}
	return faults.Err()
}

// maxLimit is far above what anybody needs, and is held exactly by a float64.
const maxLimit = 1 << 50

// rate reports whether the limit is a rate per second, which need not be a whole number.
func (n Name) rate() bool { return n == Requests || n == OrganizationRequests || n == Bodies }

// Allows returns nil when an amount is within the limit of a quota, else an *Exceeded.
func (l Limits) Allows(n Name, amount int64, wait time.Duration) error {
	if limit := l[n]; limit > 0 && float64(amount) > limit {
		return Refuse(n, limit, wait)
	}
	return nil
}

// Exceeded is the fault of reaching the limit of a quota.
type Exceeded struct {
	Quota Name
	Limit float64
	Wait  time.Duration // after which another attempt makes sense
	cause *fault.Error
}

// Refuse returns the fault of going over the limit of a quota.
func Refuse(n Name, limit float64, wait time.Duration) *Exceeded {
	kind := fault.Limited
	if n == Body || n == ContextSize {
		kind = fault.TooLarge
	}
	return &Exceeded{Quota: n, Limit: limit, Wait: wait, cause: fault.New(kind, fmt.Sprintf(sentence(n), strconv.FormatFloat(limit, 'f', -1, 64)))}
}

func (e *Exceeded) Error() string { return e.cause.Error() }

// Unwrap returns the fault with its kind.
func (e *Exceeded) Unwrap() error { return e.cause }

// sentence says of a quota what its limit is.
func sentence(n Name) string {
	switch n {
	case Requests:
		return "an API key may make %s requests a second"
	case OrganizationRequests:
		return "the API keys of an organization may make %s requests a second together"
	case Bodies:
		return "the API keys of an organization may send %s bytes of bodies a second together"
	case DryRuns:
		return "an organization may have %s dry runs and previews under way at once"
	case ChannelTests:
		return "an organization may have %s tests of channels under way at once"
	case LargeAnswers:
		return "an organization may read %s large answers at once"
	case ContextSize:
		return "the context is larger than %s bytes"
	case Contexts:
		return "an organization may have %s bytes of contexts kept; they go with their occurrences"
	case Channels:
		return "an organization may have %s channels, those of its projects included"
	case Keys:
		return "an organization may have %s API keys; revoked ones do not count"
	case Lists:
		return "an organization may have %s distribution lists in all of its projects"
	case Groups:
		return "an organization may have %s groups"
	case Projects:
		return "an organization may have %s projects"
	case Applications:
		return "an organization may have %s applications in all of its projects"
	case Events:
		return "an organization may have %s events in all of its applications"
	case Imports:
		return "an organization may have %s imports under way: wait for one of them to end, or cancel it"
	case AuthFailures:
		return "a client address may fail to authenticate %s times a second"
	case Body:
		return "the body is larger than %s bytes"
	}
	return "the limit is %s"
}
