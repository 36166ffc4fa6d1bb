package conformance

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// people returns enrollments of n different persons.
func people(n int) []users.Enrollment {
	es := make([]users.Enrollment, n)
	for i := range es {
		es[i] = users.Enrollment{Details: users.Details{Email: fmt.Sprintf("Person-%d@example.org", i), FirstName: fmt.Sprint("First ", i)},
			CustomFields: metadata.Map{"number": fmt.Sprint(i)}}
	}
	return es
}

// attended is the result of an enrollment in a goroutine.
type attended struct {
	answers []users.Enrolled
	err     error
}

// crowd enrolls n batches at the same time and returns all answers.
func (w *world) crowd(t *testing.T, n int, batch func(i int) (org string, b users.Batch)) []users.Enrolled {
	t.Helper()
	var all []users.Enrolled
	for _, a := range together(n, func(i int) (a attended) {
		org, b := batch(i)
		a.answers, a.err = w.enrolling(t.Context(), org, b)
		return a
	}) {
		require.NoError(t, a.err)
		all = append(all, a.answers...)
	}
	return all
}

func enrollManyCases() cases {
	return cases{
		"TheAnswersAreInTheOrderOfTheBatch": func(t *testing.T, w *world) {
			w.one(t, users.Enrollment{Details: users.Details{Email: "person-3@example.org"}})
			eve := w.ensure(t, w.mine, person{Username: "eve", Email: "person-5@example.org"})
			w.enrollAt(t, w.theirs, users.Batch{Enrollments: people(2)[1:]})
			w.settle(t)
			es := people(8)
			slices.Reverse(es)
			answers := w.enroll(t, users.Batch{Enrollments: es})
			assert.Equal(t, "CC+C-CEC", flags(answers...))
			for i, a := range answers {
				assert.Equal(t, users.Enrollment{Details: users.Details{Email: a.Member.Email}}.Key(), es[i].Key())
			}
			assert.Equal(t, eve.ID, answers[2].Member.ID)
		},
		"RepeatedKeyIsNewOnce": func(t *testing.T, w *world) {
			answers := w.enroll(t, users.Batch{Enrollments: []users.Enrollment{
				{Details: users.Details{Email: "É.ve@example.org", FirstName: "First"}, CustomFields: metadata.Map{"a": "first"}}, {Details: users.Details{Email: "bob@example.org"}},
				{Details: users.Details{Email: "e\u0301.VE@example.org", FirstName: "Second"}, CustomFields: metadata.Map{"a": "second", "b": "second"}},
				{Details: users.Details{Email: "x@example.org"}}, {Details: users.Details{Email: "é.ve@EXAMPLE.org", FirstName: "Third"}}}})
			assert.Equal(t, "C+-C-", flags(answers...))
			for _, i := range []int{2, 4} {
				assert.Equal(t, answers[0].Member, answers[i].Member, "the same person")
			}
			assert.Equal(t, "First", answers[0].Member.FirstName)
			assert.Equal(t, metadata.Map{"a": "first"}, answers[0].Member.CustomFields)
			assert.Len(t, w.addresses(t, answers[0].Member), 1)
		},
		"TwoKeysMayMeanOneMember": func(t *testing.T, w *world) {
			// No person's username is the e-mail of another one.
			w.ensure(t, w.mine, person{Username: "eve@example.org", Email: "other@example.org"})
			answers := w.enroll(t, users.Batch{Enrollments: []users.Enrollment{{Details: users.Details{Email: "eve@example.org"}}, {Details: users.Details{Email: "other@example.org"}}}})
			assert.Equal(t, answers[0].Member.ID, answers[1].Member.ID)
			assert.False(t, answers[0].Created || answers[1].Created || answers[0].Enrolled || answers[1].Enrolled)
			assert.ElementsMatch(t, []string{"eve@example.org", "other@example.org"}, values(w.addresses(t, answers[0].Member)))
		},
		"TwoKeysOfOneMemberMergeBoth": func(t *testing.T, w *world) {
			w.ensure(t, w.mine, person{Username: "eve@example.org", Email: "other@example.org"})
			w.enroll(t, users.Batch{MergeFields: true, Enrollments: []users.Enrollment{
				{Details: users.Details{Email: "eve@example.org"}, CustomFields: metadata.Map{"a": "1", "both": "first"}}, {Details: users.Details{Email: "other@example.org"}, CustomFields: metadata.Map{"b": "2", "both": "second"}}}})
			assert.Equal(t, metadata.Map{"a": "1", "b": "2", "both": "second"}, w.member(t, "eve@example.org").CustomFields)
		},
		"FiveThousandInOneBatch": func(t *testing.T, w *world) {
			const n = 5_000
			es := people(n)
			first := w.enroll(t, users.Batch{Enrollments: es[:n/2], MergeFields: true})
			assert.Equal(t, strings.Repeat("C", n/2), flags(first...))
			all := w.enroll(t, users.Batch{Enrollments: es, MergeFields: true, Group: w.mine.staff.ID})
			assert.Equal(t, strings.Repeat("+", n/2)+strings.Repeat("C", n/2), flags(all...))
			again := w.enroll(t, users.Batch{Enrollments: es, MergeFields: true, Group: w.mine.staff.ID})
			assert.Equal(t, strings.Repeat("-", n), flags(again...))
			for i, a := range again {
				require.Equal(t, es[i].Email, a.Member.User.Username)
				require.Equal(t, all[i].Member, a.Member)
				require.Equal(t, es[i].CustomFields, a.Member.CustomFields)
			}
			total := 0
			for after := users.MemberID(0); ; {
				page := look(t, w, func(tx ports.Tx) ([]users.Member, error) {
					return tx.Users().List(t.Context(), w.mine.org.ID, after, 1_000)
				})
				if len(page) == 0 {
					break
				}
				total, after = total+len(page), page[len(page)-1].ID
			}
			assert.Equal(t, n+2, total, "with Ada and Bob")
		},
		"OneOfManyCallersCreatesTheEmail": func(t *testing.T, w *world) {
			const n = 32
			answers := w.crowd(t, n, func(i int) (string, users.Batch) {
				email := map[bool]string{true: "É.ve@example.org", false: "e\u0301.VE@EXAMPLE.org"}[i%2 == 0]
				return "acme", users.Batch{Enrollments: []users.Enrollment{{Details: users.Details{Email: email}, CustomFields: metadata.Map{"caller": fmt.Sprint(i)}}}}
			})
			said := flags(answers...)
			assert.Equal(t, 1, strings.Count(said, "C"), said)
			assert.Equal(t, n-1, strings.Count(said, "-"), said)
			for _, a := range answers {
				require.NoError(t, a.Err)
				assert.Equal(t, answers[0].Member, a.Member)
			}
			assert.Len(t, w.addresses(t, answers[0].Member), 1)
		},
		"ConcurrentCallersInTwoOrganizations": func(t *testing.T, w *world) {
			const n = 32
			answers := w.crowd(t, n, func(i int) (string, users.Batch) {
				return []string{"acme", "zeta"}[i%2], users.Batch{Enrollments: []users.Enrollment{{Details: users.Details{Email: "eve@example.org"}}}}
			})
			w.settle(t)
			said := flags(answers...)
			assert.Equal(t, 1, strings.Count(said, "C"), said)
			assert.Equal(t, 1, strings.Count(said, "E"), said)
			assert.Equal(t, n-2, strings.Count(said, "-"), said)
		},
		"ConcurrentCallersForDifferentPeople": func(t *testing.T, w *world) {
			const n = 64
			es := people(n)
			answers := w.crowd(t, n, func(i int) (string, users.Batch) {
				return "acme", users.Batch{Enrollments: es[i : i+1], MergeFields: i%2 == 0}
			})
			assert.Equal(t, strings.Repeat("C", n), flags(answers...))
			for i, a := range answers {
				assert.Equal(t, es[i].Email, a.Member.User.Username, "everybody gets his own answer")
				assert.Equal(t, es[i].CustomFields, a.Member.CustomFields)
				assert.Equal(t, []string{orgs.DefaultGroup}, a.Member.Groups)
			}
		},
		"FaultyCallerHarmsNoOther": func(t *testing.T, w *world) {
			const n = 16
			es := people(n)
			results := together(n, func(i int) attended {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				org, b, call := "acme", users.Batch{Enrollments: es[i : i+1]}, w.enrolling
				switch i % 4 {
				case 1:
					org = "other"
				case 2:
					call = w.dryRun
				case 3:
					cancel()
				}
				answers, err := call(ctx, org, b)
				return attended{answers, err}
			})
			for i, r := range results {
				switch i % 4 {
				case 1:
					assert.ErrorIs(t, r.err, orgs.ErrNotFound)
					continue
				case 3:
					assert.Error(t, r.err)
					continue
				}
				require.NoError(t, r.err)
				assert.Equal(t, "C", flags(r.answers...))
				kept := w.finds(t, users.ErrNotFound, func(tx ports.Tx) error {
					_, err := tx.Users().ByUsername(t.Context(), w.mine.org.ID, es[i].Email)
					return err
				})
				assert.Equal(t, i%4 != 2, kept)
			}
		},
		"BatchesInOppositeOrderAllEnd": func(t *testing.T, w *world) {
			const n, batches = 50, 8
			answers := w.crowd(t, batches, func(i int) (string, users.Batch) {
				es := people(n)
				if i%2 == 1 {
					slices.Reverse(es)
				}
				return "acme", users.Batch{Enrollments: es, MergeFields: true, Group: w.mine.staff.ID}
			})
			said := flags(answers...)
			assert.Equal(t, n, strings.Count(said, "C"), said)
			assert.Equal(t, n*(batches-1), strings.Count(said, "-"), said)
		},
		"MergesOfManyCallersAllSurvive": func(t *testing.T, w *world) {
			const n = 32
			w.crowd(t, n, func(i int) (string, users.Batch) {
				return "acme", users.Batch{MergeFields: true, Enrollments: []users.Enrollment{{Details: users.Details{Email: "bob@example.org"}, CustomFields: metadata.Map{fmt.Sprint(i): true}}}}
			})
			assert.Len(t, w.member(t, "bob@example.org").CustomFields, n)
		},
		"EnrollingDuringUpdatesLosesNothing": func(t *testing.T, w *world) {
			const n = 32
			for _, err := range together(n, func(i int) error {
				if i%2 == 0 {
					_, err := w.enrolling(t.Context(), "acme", users.Batch{MergeFields: true, Enrollments: []users.Enrollment{{Details: users.Details{Email: "bob@example.org"}, CustomFields: metadata.Map{fmt.Sprint(i): true}}}})
					return err
				}
				return w.Update(t.Context(), func(tx ports.Tx) error {
					m, err := tx.Users().ByUsername(t.Context(), w.mine.org.ID, "bob@example.org")
					if err != nil {
						return err
					}
					if m.CustomFields, err = metadata.Merge.Apply(m.CustomFields, metadata.Map{fmt.Sprint(i): true}); err != nil {
						return err
					}
					return tx.Users().SaveFields(t.Context(), m)
				})
			}) {
				require.NoError(t, err)
			}
			assert.Len(t, w.member(t, "bob@example.org").CustomFields, n)
		},
	}
}
