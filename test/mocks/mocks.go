// Package mocks holds generated doubles of ports, for what no fake with its own state can do:
// fail at the third call, answer in an order, run backwards. State belongs in a real store, which
// SQLite in memory gives every test.
package mocks

//go:generate go tool mockgen -destination store.go -package mocks -write_package_comment=false -mock_names Store=Store,Clock=Clock github.com/tocsin/tocsin/ports Store,Clock
//go:generate go tool mockgen -destination dispatcher.go -package mocks -write_package_comment=false -mock_names Dispatcher=Dispatcher github.com/tocsin/tocsin/domain/deliveries Dispatcher
