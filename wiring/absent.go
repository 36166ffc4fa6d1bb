package wiring

import (
	"errors"
	"fmt"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/configs"
)

// ifAbsent says what to do if the database is absent: there is no SQLite file, or no schema.
type ifAbsent bool

const (
	create ifAbsent = false // for what may begin an installation
	refuse ifAbsent = true  // for all else, which would only hide a wrong address
)

// explainAbsent adds to the error of an absent database where its address comes from.
func explainAbsent(c configs.Config, err error) error {
	if !errors.Is(err, gormstore.ErrNoFile) && !errors.Is(err, gormstore.ErrNoSchema) {
		return err
	}
	for _, v := range c.Values() {
		switch {
		case v.Name != "database_url":
		case v.Origin == "default":
			return fmt.Errorf("%w (TOCSIN_DATABASE_URL is not set, so this is the default of %s)", err, v.Name)
		default:
			return fmt.Errorf("%w (%s is from: %s)", err, v.Name, v.Origin)
		}
	}
	return err
}
