package gormstore

import (
	"database/sql"
	"time"
)

// Pool describes the connections to a database.
type Pool struct {
	Name   string
	Open   int
	InUse  int
	Most   int
	Waits  int64 // for a connection, since the start
	Waited time.Duration
}

// Pools returns the state of the connections to the database.
func (s *Store) Pools() []Pool { return s.engine.pools() }

func (e *sqliteEngine) pools() []Pool {
	all := []Pool{poolOf("write", e.writing.Stats())}
	if e.reading != e.writing {
		all = append(all, poolOf("read", e.reading.Stats()))
	}
	return all
}

func poolOf(name string, s sql.DBStats) Pool {
	return Pool{Name: name, Open: s.OpenConnections, InUse: s.InUse, Most: s.MaxOpenConnections, Waits: s.WaitCount, Waited: s.WaitDuration}
}

func (e *postgresEngine) pools() []Pool {
	s := e.pool.Stat()
	return []Pool{{Name: "postgres", Open: int(s.TotalConns()), InUse: int(s.AcquiredConns()), Most: int(s.MaxConns()), Waits: s.EmptyAcquireCount(),
		Waited: s.EmptyAcquireWaitTime()}}
}
