// Package harness assembles the use cases as the program does, with the store, the clock and the
// drivers of a test. It has no rules and starts nothing.
package harness

import (
	"context"
	"time"

	"github.com/tocsin/tocsin/adapters/cli"
	"github.com/tocsin/tocsin/adapters/console"
	"github.com/tocsin/tocsin/adapters/httpapi"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/app/batch"
	"github.com/tocsin/tocsin/app/delivery"
	"github.com/tocsin/tocsin/app/importer"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/factors"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/quotas"
	"github.com/tocsin/tocsin/domain/signon"
	"github.com/tocsin/tocsin/ports"
)

// Parts are the parts that a test chooses. Only the store and the clock are required.
type Parts struct {
	Store ports.Store
	Clock ports.Clock

	Limits    *quotas.Defaults // of organizations that have none of their own
	MaxImport int64            // bytes of the largest import file

	Drivers      delivery.Drivers
	CheckChannel app.ChannelCheck // nil: a channel's own check, whatever its driver
	SendTimeout  time.Duration    // of tests of channels and templates
	Composer     delivery.Composer
	Links        deliveries.Links

	Policy              operators.Policy
	Authenticators      factors.Authenticators // nil: there are no passkeys
	RequireSecondFactor bool
	Provider            signon.Provider // nil: there is no single sign-on
	SignOn              app.SignOnSettings

	SystemMail app.SystemMailSettings // zero: the installation has no system channel

	InstanceInfo func(context.Context) app.InstanceInfo // of the page about the system
}

// UseCases are all use cases, in the groups that callers need.
type UseCases struct {
	API            httpapi.UseCases
	Console        console.UseCases
	CLI            cli.Services
	Authentication *app.Authentication
}

func newCheck(p Parts) app.ChannelCheck {
	if p.CheckChannel == nil {
		return channels.Channel.CheckSettings
	}
	return p.CheckChannel
}

func newWorkers() batch.Workers { return batch.Pair }

func newQuotas(p Parts) *app.Quotas { return app.NewQuotas(p.Clock, p.Limits, 0) }

func newImportJobs(p Parts) *importer.Jobs {
	return importer.NewJobs(p.Store, p.Clock, p.MaxImport, p.Limits)
}

func newChannelTests(p Parts, q *app.Quotas) *app.ChannelTests {
	return app.NewChannelTests(p.Store, p.Drivers, q, p.SendTimeout)
}

func newTemplates(p Parts, q *app.Quotas) *app.Templates {
	return app.NewTemplates(p.Store, p.Drivers, p.Composer, p.Clock, q, p.SendTimeout)
}

func newFactors(p Parts, o *app.Operators) *app.Factors {
	return app.NewFactors(o, p.Authenticators, p.RequireSecondFactor)
}

func newSingleSignOn(p Parts, o *app.Operators) *app.SingleSignOn {
	return app.NewSingleSignOn(o, p.Provider, p.SignOn)
}

func newSystemMail(p Parts) *app.SystemMail {
	return app.NewSystemMail(p.Store, p.Clock, p.SystemMail)
}

func newStateCache(p Parts) *app.StateCache { return app.NewStateCache(p.Store, p.Clock) }

func newInstallation(p Parts, o *app.Occurrences, s *app.StateCache) *app.Installation {
	return app.NewInstallation(p.Store, o, s, p.Clock)
}

func newSystem(p Parts) *app.System { return app.NewSystem(p.Store, p.Clock, p.InstanceInfo) }
