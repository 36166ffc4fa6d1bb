package gormstore_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/factors"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/ports"
)

// TestVerify makes faults in a correct database, one after the other.
func TestVerify(t *testing.T) {
	t.Parallel()
	const counts = "the numbers of deliveries agree with the deliveries"
	for name, c := range map[string]struct {
		fault string
		check string
		want  string
	}{
		"ANewerSchema":            {"INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, TRUE); UPDATE installation SET compatible_from = 99999", "the schema is this program's", "is newer than this program"},
		"AnOlderSchema":           {"DELETE FROM goose_db_version WHERE version_id > 1", "the schema is this program's", "is older than this program"},
		"MemberOfNoOrganization":  {"DELETE FROM users", "what refers to something leads there", "members (user_id) -> users: 1 rows refer to nothing"},
		"UncountedDelivery":       {"DELETE FROM occurrence_tallies", counts, "occurrence 1"},
		"ADeliveryInAnotherState": {"UPDATE occurrence_tallies SET pending = pending - 1, sending = sending + 1", counts, "occurrence 1"},
		"ADeliveryTooMany":        {"UPDATE occurrence_tallies SET pending = pending + 1", counts, "occurrence 1"},
		"FewerSentThanThereAre":   {"UPDATE deliveries SET state = 3", counts, "occurrence 1"},
		"SettingsThatDoNotOpen":   {"UPDATE channels SET settings = 'v1.0000.bm8'", "the settings of channels can be opened", `the settings of the channel "Mail" (id 1) cannot be opened`},
		"AnAppThatDoesNotOpen":    {"UPDATE totp_factors SET secret = 'v1.0000.bm8'", "the secrets of authenticator apps can be opened", "the authenticator app of account 1 cannot be used"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, url string) {
				s := open(t, url)
				p := newPost(t, s)
				require.NoError(t, s.Update(t.Context(), func(tx ports.Tx) error {
					account, err := tx.Operators().Save(t.Context(), operators.Account{User: p.member.User, Changed: clock{}.Now()})
					return errors.Join(err, tx.Factors().SaveTOTP(t.Context(), factors.TOTP{Account: account, Secret: factors.NewSecret(), Created: clock{}.Now()}))
				}))
				p.trigger(t, nil, nil)
				_, err := s.Queue().Expand(t.Context(), deliveries.AllOccurrences, 10)
				require.NoError(t, err)
				all, err := s.Verify(t.Context())
				require.NoError(t, err)
				require.Len(t, all, 5)
				for _, f := range all {
					assert.Empty(t, f.Wrong, f.Check)
				}
				on, off := "PRAGMA foreign_keys = on", "PRAGMA foreign_keys = off"
				if strings.HasPrefix(url, "postgres") {
					on, off = "SET session_replication_role = origin", "SET session_replication_role = replica"
				}
				conn, err := s.Handle().Conn(t.Context())
				require.NoError(t, err)
				for _, statement := range []string{off, c.fault, on} {
					_, err := conn.ExecContext(t.Context(), statement)
					require.NoError(t, err)
				}
				require.NoError(t, conn.Close())
				all, err = s.Verify(t.Context())
				require.NoError(t, err)
				n := slices.IndexFunc(all, func(f ports.Finding) bool { return f.Check == c.check })
				require.GreaterOrEqual(t, n, 0, c.check)
				for i, f := range all {
					if i == n {
						assert.Contains(t, strings.Join(f.Wrong, "\n"), c.want)
					} else {
						assert.Empty(t, f.Wrong, f.Check)
					}
				}
			})
		})
	}
}
