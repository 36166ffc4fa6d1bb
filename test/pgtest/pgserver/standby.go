package pgserver

import (
	"context"
	"net/url"
	"path/filepath"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// Standby starts a synchronous standby of this server.
func (s *Server) Standby(ctx context.Context, o Options) (*Server, error) {
	address, err := url.Parse(s.url)
	if err != nil {
		return nil, err
	}
	password, _ := address.User.Password()
	standby, err := startWith(ctx, o, password, func(ctx context.Context, bin, dir string, account syscall.SysProcAttr) error {
		if err := chown(account, dir); err != nil {
			return err
		}
		return runAs(ctx, account, dir, filepath.Join(bin, "pg_basebackup"), "--dbname", s.url, "--pgdata", filepath.Join(dir, "data"),
			"--write-recovery-conf", "--wal-method", "stream", "--checkpoint", "fast", "--no-sync")
	})
	if err != nil {
		return nil, err
	}
	for _, statement := range []string{"ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()"} {
		if err := s.exec(ctx, statement); err != nil {
			return nil, err
		}
	}
	return standby, s.await(ctx, "SELECT EXISTS (SELECT FROM pg_stat_replication WHERE sync_state = 'sync')")
}

// Promote promotes a standby to the primary.
func (s *Server) Promote(ctx context.Context) error {
	if err := s.exec(ctx, "SELECT pg_promote()"); err != nil {
		return err
	}
	return s.await(ctx, "SELECT NOT pg_is_in_recovery()")
}

func (s *Server) exec(ctx context.Context, statement string) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.url)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, statement)
	return err
}

// await waits until a question is answered with yes.
func (s *Server) await(ctx context.Context, question string) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.url)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		var yes bool
		if err := conn.QueryRow(ctx, question).Scan(&yes); err != nil || yes {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-again.C:
		}
	}
}
