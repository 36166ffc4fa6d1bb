//go:build wireinject

package wiring

import (
	"context"
	"log/slog"

	"github.com/google/wire"

	"github.com/tocsin/tocsin/adapters/cli"
	"github.com/tocsin/tocsin/configs"
)

// openServices assembles the use cases of the command line on an opened database.
func openServices(ctx context.Context, c configs.Config, key configs.SecretKey, log *slog.Logger, absent ifAbsent) (cli.Services, func(), error) {
	panic(wire.Build(storage, useCases))
}

// openWorker assembles the background work on an opened database.
func openWorker(ctx context.Context, c configs.Config, key configs.SecretKey, log *slog.Logger, absent ifAbsent, self instance) (background, func(), error) {
	panic(wire.Build(storage, useCases, backgroundWork))
}

// openServer assembles the service on an opened database.
func openServer(ctx context.Context, c configs.Config, key configs.SecretKey, log *slog.Logger, absent ifAbsent, self instance) (*server, func(), error) {
	panic(wire.Build(storage, useCases, backgroundWork, web))
}
