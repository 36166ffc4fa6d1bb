package gormstore

import "context"

// Description describes the database of a store.
type Description struct {
	Kind    string // SQLite or PostgreSQL
	Version string
	Size    int64 // bytes
}

// Describe returns the description of the database.
func (s *Store) Describe(ctx context.Context) (d Description, err error) {
	err = s.call(func() error {
		return s.engine.view(ctx, func(t tx) error {
			d.Kind = "SQLite"
			ask := "SELECT sqlite_version() AS version, page_count * page_size AS size FROM pragma_page_count(), pragma_page_size()"
			if t.dialect == onPostgres {
				d.Kind = "PostgreSQL"
				ask = "SELECT current_setting('server_version') AS version, pg_database_size(current_database()) AS size"
			}
			return t.db(ctx).Raw(ask).Row().Scan(&d.Version, &d.Size)
		})
	})
	return d, err
}
