package gormstore

import (
	"database/sql"
	"time"
)

// Pool is the state of a pool of connections to the database.
type Pool struct {
	Name   string
	Open   int
	InUse  int
	Max    int
	Waits  int64 // for a connection, since the start
	Waited time.Duration
}

// Pools returns the state of the connection pools.
func (s *Store) Pools() []Pool { return s.engine.pools() }

func (e *sqliteEngine) pools() []Pool {
	all := []Pool{poolOf("write", e.writePool.Stats())}
	if e.readPool != e.writePool {
		all = append(all, poolOf("read", e.readPool.Stats()))
	}
	return all
}

func poolOf(name string, s sql.DBStats) Pool {
	return Pool{Name: name, Open: s.OpenConnections, InUse: s.InUse, Max: s.MaxOpenConnections, Waits: s.WaitCount, Waited: s.WaitDuration}
}

func (e *postgresEngine) pools() []Pool {
	s := e.pool.Stat()
	return []Pool{{Name: "postgres", Open: int(s.TotalConns()), InUse: int(s.AcquiredConns()), Max: int(s.MaxConns()), Waits: s.EmptyAcquireCount(),
		Waited: s.EmptyAcquireWaitTime()}}
}
