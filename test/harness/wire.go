//go:build wireinject

package harness

import (
	"github.com/google/wire"

	"github.com/tocsin/tocsin/wiring"
)

// Assemble assembles the use cases around these parts.
func Assemble(p Parts) UseCases {
	panic(wire.Build(wiring.UseCases, newCheck, newWorkers, newQuotas, newImportJobs, newChannelTests, newTemplates, newFactors, newSingleSignOn, newSystemMail, newStateCache, newInstallation, newSystem,
		wire.FieldsOf(new(Parts), "Store", "Clock", "Limits", "Drivers", "Composer", "Links", "Policy"), wire.Struct(new(UseCases), "*")))
}
