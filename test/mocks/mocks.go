// Package mocks holds generated doubles of ports, for the one thing that the stores and authenticators of the tests cannot do: fail
// on demand. State belongs in a real store, which SQLite in memory gives every test.
package mocks

//go:generate go tool mockgen -destination store.go -package mocks -write_package_comment=false -mock_names Store=Store github.com/tocsin/tocsin/ports Store
//go:generate go tool mockgen -destination authenticator.go -package mocks -write_package_comment=false -mock_names Authenticator=Authenticator github.com/tocsin/tocsin/domain/access Authenticator
