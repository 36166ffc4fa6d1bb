package gormstore

import (
	"context"
	"time"

	"gorm.io/gorm/logger"
)

// Overhear passes on every statement that the store's sessions run, with its parameters in it.
func (s *Store) Overhear(hear func(statement string)) {
	spy := ear{Interface: logger.Discard, hear: hear}
	switch e := s.engine.(type) {
	case *sqliteEngine:
		e.base.Logger = spy
	case *postgresEngine:
		e.base.Logger = spy
	}
}

type ear struct {
	logger.Interface
	hear func(statement string)
}

func (e ear) Trace(_ context.Context, _ time.Time, fc func() (string, int64), _ error) {
	statement, _ := fc()
	e.hear(statement)
}
