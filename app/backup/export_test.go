package backup

// The size of a page in tests, where a few rows are several pages.
const (
	PageSize  = 3
	PageBytes = 1_000
)

func init() { pageSize, pageBytes = PageSize, PageBytes } //nolint:gochecknoinits // Before any parallel test.
