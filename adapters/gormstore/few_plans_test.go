package gormstore_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// TestPlansForFewOfMany checks that SQLite, which has no statistics, finds few members or
// occurrences by the index that has them alone, and does not read those of the organization.
func TestPlansForFewOfMany(t *testing.T) {
	t.Parallel()
	s := open(t, "sqlite::memory:")
	p := newPost(t, s)
	p.trigger(t, nil, nil)
	heard, hear := statements()
	s.Overhear(hear)
	require.NoError(t, s.View(t.Context(), func(tx ports.Tx) error {
		org := p.channel.Organization
		_, searched := tx.Users().Search(t.Context(), org, users.Query{Text: "ada", Locked: true, Limit: 10})
		_, granted := tx.Operators().GrantedRoles(t.Context(), org, 0, 10)
		_, _, waiting := tx.Installation().Backlogs(t.Context(), 0, 10)
		return errors.Join(searched, granted, waiting)
	}))
	wide := regexp.MustCompile(`^SEARCH m USING .*members_(username|organization|email)\w* \(organization_id=\?( AND id>\?)?\)|^SCAN (occurrences|o)\b`)
	for statement := range heard {
		for _, step := range lines(t, s.Handle(), 3, "EXPLAIN QUERY PLAN "+statement) {
			assert.NotRegexp(t, wide, strings.TrimSpace(step), statement)
		}
	}
}

// TestPageBesideInactiveSubscriptions is about an expansion by a list and by subscriptions. A page
// that the list fills does not read the inactive subscriptions behind it.
func TestPageBesideInactiveSubscriptions(t *testing.T) {
	t.Parallel()
	s := open(t, "sqlite::memory:")
	p := newPost(t, s)
	require.NoError(t, s.Update(t.Context(), func(tx ports.Tx) error {
		_, _, err := tx.Subscriptions().Subscribe(t.Context(), p.notice, p.assigned.ID, true)
		return err
	}))
	p.trigger(t, nil, nil)
	heard, hear := statements()
	s.Overhear(hear)
	_, err := p.Queue().Expand(t.Context(), deliveries.AllOccurrences, 1)
	require.NoError(t, err)
	var bounds string
	for statement := range heard {
		if strings.Contains(statement, "AS recipients") {
			bounds = strings.Join(lines(t, s.Handle(), 3, "EXPLAIN QUERY PLAN "+statement), "\n")
		}
	}
	assert.Regexp(t, `SEARCH subscriptions USING .*\(notification_id=\? AND assignment_id>\? AND assignment_id<\?\)`, bounds)
}
