package gormstore_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/ports"
)

// TestMailboxPlans checks that no statement about the mailbox reads or sorts more than it needs. It
// uses SQLite, where plans do not depend on the number of rows.
func TestMailboxPlans(t *testing.T) {
	t.Parallel()
	s := open(t, "sqlite::memory:")
	p := newPost(t, s)
	org := p.channel.Organization
	var heard []string
	s.Overhear(func(statement string) { heard = append(heard, statement) })
	require.NoError(t, s.Update(t.Context(), func(tx ports.Tx) error {
		box := tx.Mailbox()
		for n := range 3 {
			if _, err := box.Keep(t.Context(), org, p.channel.ID, deliveries.Message{ID: strconv.Itoa(n), To: "ada@example.org"}); err != nil {
				return err
			}
		}
		for _, f := range []deliveries.MailboxFilter{{}, {Before: 9}, {Channel: p.channel.ID}, {AddressKey: "ada@example.org"}, {Channel: p.channel.ID, AddressKey: "ada@example.org", Before: 9}} {
			f.Limit = 10
			found, err := box.List(t.Context(), org, f)
			if err != nil {
				return err
			}
			require.Len(t, found, 3)
		}
		if _, err := box.Channels(t.Context(), org, 10); err != nil {
			return err
		}
		if _, err := box.Find(t.Context(), org, 1); err != nil {
			return err
		}
		if _, err := box.Trim(t.Context(), org, p.channel.ID, 2, 10); err != nil {
			return err
		}
		if _, err := box.Shrink(t.Context(), org, 2<<10, 10); err != nil {
			return err
		}
		if _, err := box.Clear(t.Context(), org, p.channel.ID, 1); err != nil {
			return err
		}
		_, err := box.Clear(t.Context(), org, 0, 1)
		return err
	}))
	require.Greater(t, len(heard), 10)
	for _, statement := range heard {
		if strings.HasPrefix(statement, "INSERT") {
			continue // It has no plan.
		}
		plan := strings.Join(lines(t, s.Handle(), 3, "EXPLAIN QUERY PLAN "+statement), "\n")
		assert.NotContains(t, plan, "SCAN m", statement)
		assert.NotContains(t, plan, "TEMP B-TREE", statement)
		switch {
		case strings.Contains(statement, "SUM(size)"):
			assert.Contains(t, plan, "COVERING INDEX mailbox_messages_size", "%s: the sizes are read from the index", statement)
		case strings.Contains(statement, "channel_id ="):
			assert.Regexp(t, "mailbox_messages_(channel|address)", plan, statement)
		case strings.Contains(statement, "address_key ="):
			assert.Contains(t, plan, "mailbox_messages_address", statement)
		}
	}
}
