package backup

// Few rows are several pages in tests.
func init() { pageSize, bytesPageSize = 3, 2 } //nolint:gochecknoinits // Before any test that runs beside others.
