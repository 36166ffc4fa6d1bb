package gormstore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/ports"
)

const (
	// verifyPage is the maximum number of rows that are read at once, maxMistakes the maximum
	// number of errors of one check that are reported.
	verifyPage  = 500
	maxMistakes = 20
)

// miscountedSQL finds occurrences whose counters differ from their deliveries. There may be fewer
// finished deliveries than counted, because they are deleted before the occurrence.
func miscountedSQL() string {
	var names, counted, wrong []string
	for _, s := range deliveries.States() {
		name, differs := string(s), "<> 0"
		if !s.Open() {
			differs = "< 0"
		}
		names = append(names, name)
		counted = append(counted, "CASE WHEN "+inState(s)+" THEN -1 ELSE 0 END")
		wrong = append(wrong, "SUM("+name+") "+differs)
	}
	return "SELECT occurrence_id FROM (SELECT occurrence_id, " + strings.Join(names, ", ") + " FROM occurrence_tallies UNION ALL SELECT occurrence_id, " +
		strings.Join(counted, ", ") + " FROM deliveries) AS counted GROUP BY occurrence_id HAVING " + strings.Join(wrong, " OR ") + " ORDER BY occurrence_id LIMIT ?"
}

// Verify checks the database on one snapshot: that its schema is this program's, references are
// valid, counters match the rows, and encrypted columns can be decrypted. It reads all rows.
func (s *Store) Verify(ctx context.Context) (all []ports.Finding, err error) {
	schema := ports.Finding{Check: "the schema is this program's"}
	if err := s.Ready(ctx); err != nil {
		schema.Wrong = append(schema.Wrong, err.Error())
		return []ports.Finding{schema}, nil
	}
	ctx = withTimeoutClass(ctx, timeoutNone)
	err = s.call(func() error {
		return s.engine.view(ctx, func(t tx) error {
			all = []ports.Finding{schema}
			for _, check := range []func(context.Context) (ports.Finding, error){t.verifyReferences, t.verifyCounts, t.verifyChannels, t.verifyApps} {
				found, err := check(ctx)
				if err != nil {
					return err
				}
				all = append(all, found)
			}
			return nil
		})
	})
	return all, err
}

func (t tx) verifyReferences(ctx context.Context) (f ports.Finding, err error) {
	f.Check = "what refers to something leads there"
	r, err := t.rows(ctx)
	if err != nil {
		return f, err
	}
	dangling, err := r.Dangling(ctx)
	for _, key := range slices.Sorted(maps.Keys(dangling)) {
		f.Wrong = append(f.Wrong, fmt.Sprintf("%s: %d rows refer to nothing", key, dangling[key]))
	}
	return f, err
}

func (t tx) verifyCounts(ctx context.Context) (f ports.Finding, err error) {
	f.Check = "the numbers of deliveries agree with the deliveries"
	ids, err := rowsOf[events.OccurrenceID](t.db(ctx).Raw(miscountedSQL(), maxMistakes))
	for _, id := range ids {
		f.Wrong = append(f.Wrong, fmt.Sprintf("occurrence %d", id))
	}
	return f, err
}

func (t tx) verifyChannels(ctx context.Context) (ports.Finding, error) {
	f := ports.Finding{Check: "the settings of channels can be opened"}
	for after := channels.ID(0); ; {
		page, err := rowsOf[channelRow](t.db(ctx).Raw("SELECT * FROM channels WHERE id > ? ORDER BY id LIMIT ?", after, verifyPage))
		if err != nil || len(page) == 0 {
			return f, err
		}
		for _, row := range page {
			if _, err := t.open(row); err != nil && len(f.Wrong) < maxMistakes {
				f.Wrong = append(f.Wrong, err.Error())
			}
			after = row.ID
		}
	}
}

func (t tx) verifyApps(ctx context.Context) (ports.Finding, error) {
	f := ports.Finding{Check: "the secrets of authenticator apps can be opened"}
	for after := operators.AccountID(0); ; {
		page, err := rowsOf[totpRow](t.db(ctx).Raw("SELECT * FROM totp_factors WHERE account_id > ? ORDER BY account_id LIMIT ?", after, verifyPage))
		if err != nil || len(page) == 0 {
			return f, err
		}
		for _, row := range page {
			if _, err := (factorRepo{t}).secret(row); err != nil && len(f.Wrong) < maxMistakes {
				f.Wrong = append(f.Wrong, err.Error())
			}
			after = row.AccountID
		}
	}
}
