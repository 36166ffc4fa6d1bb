package browser_test

import (
	"database/sql"
	"strings"
	"time"

	_ "github.com/mattn/go-sqlite3" // the driver of the database
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// addStatistics writes statistics of the last month of acme, with more traffic by day than by
// night.
func (w *world) addStatistics() {
	w.Helper()
	db, err := sql.Open("sqlite3", strings.TrimPrefix(w.database, "sqlite:")+"?_busy_timeout=10000")
	require.NoError(w, err)
	defer func() { assert.NoError(w, db.Close()) }()
	tx, err := db.BeginTx(w.Context(), nil)
	require.NoError(w, err)
	now := time.Now().Unix() / 3600
	for back := int64(1); back < 30*24; back++ {
		hour := now - back
		busy := 12 - min(12, abs(hour%24-14)) // most at two in the afternoon
		for measure, amount := range map[int]int64{0: 1 + busy/3 + hour/24%5, 1: (hour % 7 / 5) * busy / 2, 2: busy * (1 + hour%4), 16: 40 * busy, 17: 25*busy + hour%11, 18: 6 * busy, 19: busy / 2} {
			if amount > 0 {
				_, err := tx.ExecContext(w.Context(), `INSERT INTO hourly_statistics (organization_id, hour, measure, part, amount)
					SELECT id, ?, ?, 0, ? FROM organizations WHERE slug = 'acme'`, hour, measure, amount)
				require.NoError(w, err)
			}
		}
	}
	require.NoError(w, tx.Commit())
}

func abs(n int64) int64 { return max(n, -n) }
