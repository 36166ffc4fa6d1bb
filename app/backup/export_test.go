package backup

// What a page has at most in tests, where few rows are several pages.
const (
	PageSize  = 3
	PageBytes = 1_000
)

func init() { pageSize, pageBytes = PageSize, PageBytes } //nolint:gochecknoinits // Before any test that runs beside others.
