package conformance

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// enroll enrolls a batch in the case's organization. It checks that every answer shows the member
// as stored.
func (w *world) enroll(t *testing.T, b users.Batch) []users.Enrolled {
	t.Helper()
	return w.enrollAt(t, w.mine, b)
}

// enrolling enrolls a batch in an organization as the use cases do.
func (w *world) enrolling(ctx context.Context, org string, b users.Batch) (done []users.Enrolled, err error) {
	err = w.Update(ctx, func(tx ports.Tx) (err error) {
		done, err = app.Enroll(ctx, tx, org, b)
		return err
	})
	return done, err
}

// dryRun plans a batch in an organization, in a unit of work that must not write.
func (w *world) dryRun(ctx context.Context, org string, b users.Batch) (done []users.Enrolled, err error) {
	err = w.View(ctx, func(tx ports.Tx) error {
		plan, err := app.PlanEnrollment(ctx, tx, org, b)
		if err == nil {
			done = plan.Enrolled()
		}
		return err
	})
	return done, err
}

// enrollAt is enroll for any organization. It checks that a dry run has the same answers.
func (w *world) enrollAt(t *testing.T, o tenant, b users.Batch) []users.Enrolled {
	t.Helper()
	planned, err := w.dryRun(t.Context(), o.org.Slug, b)
	require.NoError(t, err)
	answers, err := w.enrolling(t.Context(), o.org.Slug, b)
	require.NoError(t, err)
	assert.Equal(t, unnumbered(answers), unnumbered(planned), "what a dry run says is what happens")
	require.Len(t, answers, len(b.Enrollments))
	for i, a := range answers {
		require.NoError(t, a.Err)
		if i < 10 { // The rest of a long batch is no different.
			found := look(t, w, func(tx ports.Tx) (users.Member, error) {
				return tx.Users().ByUsername(t.Context(), o.org.ID, a.Member.User.Username)
			})
			assert.Equal(t, found, a.Member, "what is answered is what is stored")
		}
	}
	return answers
}

// one enrolls one person in the case's organization.
func (w *world) one(t *testing.T, e users.Enrollment) users.Enrolled {
	t.Helper()
	return only(w.enroll(t, users.Batch{Enrollments: []users.Enrollment{e}}))
}

// imported enrolls a person in the case's organization as an import does.
func (w *world) imported(t *testing.T, e users.Enrollment) users.Enrolled {
	t.Helper()
	return only(w.enroll(t, users.Batch{Enrollments: []users.Enrollment{e}, MergeFields: true}))
}

// flags returns the results of enrollments: C for a new identity, E for a new membership, + for a
// changed one.
func flags(answers ...users.Enrolled) string {
	var said strings.Builder
	for _, a := range answers {
		switch {
		case a.Created && a.Enrolled && !a.Changed:
			said.WriteString("C")
		case !a.Created && a.Enrolled && !a.Changed:
			said.WriteString("E")
		case !a.Created && !a.Enrolled && a.Changed:
			said.WriteString("+")
		case !a.Created && !a.Enrolled && !a.Changed:
			said.WriteString("-")
		default:
			said.WriteString("?")
		}
	}
	return said.String()
}

// unnumbered returns answers without the ids of new rows, which a dry run does not know.
func unnumbered(answers []users.Enrolled) []users.Enrolled {
	all := slices.Clone(answers)
	created, enrolled := map[string]bool{}, map[string]bool{}
	for i, a := range all {
		key := a.Member.User.Username
		created[key], enrolled[key] = created[key] || a.Created, enrolled[key] || a.Enrolled
		if created[key] { // now, or by an earlier row of the batch
			all[i].Member.User.ID = 0
		}
		if enrolled[key] {
			all[i].Member.ID = 0
		}
	}
	return all
}

// values returns the values of addresses.
func values(as []users.Address) []string {
	var vs []string
	for _, a := range as {
		vs = append(vs, a.Value)
	}
	return vs
}

func enrollCases() cases {
	return cases{
		"ANewPersonIsComplete": func(t *testing.T, w *world) {
			fields := metadata.Map{"n": json.Number("1.50"), "deep": map[string]any{"é": []any{nil, "<&>"}}}
			a := w.one(t, users.Enrollment{Details: users.Details{Email: "Eve.Ñ@Example.org", FirstName: "Eve", LastName: "Doe"}, CustomFields: fields})
			assert.Equal(t, "C", flags(a))
			assert.Positive(t, a.Member.ID)
			assert.Positive(t, a.Member.User.ID)
			assert.Equal(t, users.Member{ID: a.Member.ID, Organization: w.mine.org.ID, Role: users.RoleMember, CustomFields: fields, Groups: []string{orgs.DefaultGroup},
				User:    users.User{ID: a.Member.User.ID, Username: "Eve.Ñ@Example.org"},
				Details: users.Details{Email: "Eve.Ñ@Example.org", FirstName: "Eve", LastName: "Doe"}}, a.Member)
			address := only(w.addresses(t, a.Member))
			assert.Equal(t, users.Address{ID: address.ID, Member: a.Member.ID, Value: "Eve.Ñ@Example.org", Name: users.EmailName, Type: users.Email}, address)
			missing(t, w, users.ErrNotFound, func(tx ports.Tx) (users.Member, error) {
				return tx.Users().ByUsername(t.Context(), w.theirs.org.ID, "Eve.Ñ@Example.org")
			})
		},
		"ARepetitionChangesNothing": func(t *testing.T, w *world) {
			first := w.one(t, users.Enrollment{Details: users.Details{Email: "É.ve@example.org", FirstName: "Eve"}, CustomFields: metadata.Map{"a": "b"}})
			for _, e := range []users.Enrollment{{Details: users.Details{Email: "É.ve@example.org"}}, {Details: users.Details{Email: "e\u0301.VE@EXAMPLE.ORG", FirstName: "Other", LastName: "Other"}, CustomFields: metadata.Map{"c": "d"}}} {
				a := w.one(t, e)
				assert.Equal(t, "-", flags(a))
				assert.Equal(t, first.Member, a.Member, "custom fields and names stay")
			}
			assert.Len(t, w.addresses(t, first.Member), 1)
		},
		"AUserOfAnotherOrganizationIsEnrolledNotCreated": func(t *testing.T, w *world) {
			there := only(w.enrollAt(t, w.theirs, users.Batch{Enrollments: []users.Enrollment{{Details: users.Details{Email: "Eve@example.org", FirstName: "Eve"}, CustomFields: metadata.Map{"there": true}}}}))
			w.settle(t)
			a := w.one(t, users.Enrollment{Details: users.Details{Email: "eve@EXAMPLE.org", FirstName: "Other", LastName: "Other"}, CustomFields: metadata.Map{"here": true}})
			assert.Equal(t, "E", flags(a))
			assert.Equal(t, users.User{ID: there.Member.User.ID, Username: "eve@EXAMPLE.org"}, a.Member.User, "the username is spelled as it was sent here")
			assert.Equal(t, users.Details{Email: "eve@EXAMPLE.org", FirstName: "Other", LastName: "Other"}, a.Member.Details, "nothing of what the other recorded")
			assert.Equal(t, there.Member, look(t, w, func(tx ports.Tx) (users.Member, error) {
				return tx.Users().ByUsername(t.Context(), w.theirs.org.ID, "eve@example.org")
			}), "and nothing changed there")
			assert.NotEqual(t, there.Member.ID, a.Member.ID)
			assert.Equal(t, metadata.Map{"here": true}, a.Member.CustomFields, "fields are stored with the new membership")
			assert.Equal(t, []string{"eve@EXAMPLE.org"}, values(w.addresses(t, a.Member)))
		},
		"MemberIsFoundByAnEmailThatIsNotTheUsername": func(t *testing.T, w *world) {
			eve := w.ensure(t, w.mine, person{Username: "eve", Email: "É.ve@example.org"})
			a := w.one(t, users.Enrollment{Details: users.Details{Email: "e\u0301.ve@example.org", FirstName: "Other"}, CustomFields: metadata.Map{"a": "b"}})
			assert.Equal(t, "+", flags(a), "it gains the group and the address")
			assert.Equal(t, eve.ID, a.Member.ID)
			assert.Equal(t, eve.User, a.Member.User)
			assert.Empty(t, a.Member.CustomFields)
			assert.Equal(t, []string{"e\u0301.ve@example.org"}, values(w.addresses(t, eve)))
			assert.Equal(t, "-", flags(w.one(t, users.Enrollment{Details: users.Details{Email: "É.ve@example.org"}})))
		},
		"SharedEmailFindsLowestID": func(t *testing.T, w *world) {
			first := w.ensure(t, w.mine, person{Username: "zz", Email: "shared@example.org"})
			w.ensure(t, w.mine, person{Username: "aa", Email: "shared@example.org"})
			assert.Equal(t, first.ID, w.one(t, users.Enrollment{Details: users.Details{Email: "Shared@example.org"}}).Member.ID)
		},
		"UsernameBeforeEmail": func(t *testing.T, w *world) {
			w.ensure(t, w.mine, person{Username: "first", Email: "eve@example.org"})
			eve := w.ensure(t, w.theirs, person{Username: "eve@example.org", Email: "eve@example.org"})
			w.settle(t)
			a := w.one(t, users.Enrollment{Details: users.Details{Email: "eve@example.org"}})
			assert.Equal(t, "E", flags(a), "the identity of this username is enrolled, wherever it is a member")
			assert.Equal(t, eve.User, a.Member.User)
		},
		"EmailInAnotherOrganizationIsIgnored": func(t *testing.T, w *world) {
			eve := w.ensure(t, w.theirs, person{Username: "eve", Email: "eve@example.org"})
			w.settle(t)
			a := w.one(t, users.Enrollment{Details: users.Details{Email: "eve@example.org"}})
			assert.Equal(t, "C", flags(a))
			assert.NotEqual(t, eve.User.ID, a.Member.User.ID)
		},
		"WhateverIsMissingIsMended": func(t *testing.T, w *world) {
			// Ada was registered, not enrolled, so she has an address, but no group.
			a := w.one(t, users.Enrollment{Details: users.Details{Email: "ada@example.org"}})
			assert.Equal(t, "+", flags(a))
			assert.Equal(t, []string{orgs.DefaultGroup}, a.Member.Groups)
			act(t, w, func(tx ports.Tx) error {
				return tx.Addresses().Remove(t.Context(), w.mine.org.ID, w.mine.ada.ID, w.mine.adaMail.ID)
			})
			assert.Equal(t, "+", flags(w.one(t, users.Enrollment{Details: users.Details{Email: "ADA@example.org"}})))
			assert.Equal(t, []string{"+14155552671", "ADA@example.org"}, values(w.addresses(t, w.mine.ada)))
			assert.Equal(t, "-", flags(w.one(t, users.Enrollment{Details: users.Details{Email: "ada@example.org"}})))
		},
		"ExistingAddressIsUnchanged": func(t *testing.T, w *world) {
			eve := w.ensure(t, w.mine, person{Username: "eve", Email: "eve@example.org"})
			held, _ := w.hold(t, eve, users.Address{Value: "EVE@example.org", Name: "Work", Type: users.Email})
			w.one(t, users.Enrollment{Details: users.Details{Email: "eve@example.org"}})
			assert.Equal(t, held, w.addresses(t, eve))
		},
		"SecondGroupIsLinkedInAddition": func(t *testing.T, w *world) {
			e := []users.Enrollment{{Details: users.Details{Email: "eve@example.org"}}}
			assert.Equal(t, "C", flags(w.enroll(t, users.Batch{Enrollments: e, Group: w.mine.staff.ID})...))
			assert.Equal(t, []string{"Default", "Staff"}, w.member(t, "eve@example.org").Groups)
			assert.Equal(t, "-", flags(w.enroll(t, users.Batch{Enrollments: e, Group: w.mine.staff.ID})...))
			assert.Equal(t, "-", flags(w.enroll(t, users.Batch{Enrollments: e})...), "a group is never unlinked")

			board := do(t, w, func(tx ports.Tx) (orgs.Group, error) {
				g, _, err := tx.Orgs().EnsureGroup(t.Context(), w.mine.org.ID, "Board")
				return g, err
			})
			assert.Equal(t, "+", flags(w.enroll(t, users.Batch{Enrollments: e, Group: board.ID})...))
			assert.Equal(t, []string{"Board", "Default", "Staff"}, w.member(t, "eve@example.org").Groups)
		},
		"AGroupOfAnotherOrganizationIsNeverLinked": func(t *testing.T, w *world) {
			_, err := w.enrolling(t.Context(), "acme", users.Batch{Enrollments: []users.Enrollment{{Details: users.Details{Email: "eve@example.org"}}}, Group: w.theirs.staff.ID})
			require.Error(t, err)
			missing(t, w, users.ErrNotFound, func(tx ports.Tx) (users.Member, error) {
				return tx.Users().ByUsername(t.Context(), w.mine.org.ID, "eve@example.org")
			})
		},
		"NamingTheDefaultGroupChangesNothing": func(t *testing.T, w *world) {
			def := look(t, w, func(tx ports.Tx) (orgs.Group, error) {
				return tx.Orgs().Group(t.Context(), w.mine.org.ID, orgs.DefaultGroup)
			})
			a := w.enroll(t, users.Batch{Enrollments: []users.Enrollment{{Details: users.Details{Email: "eve@example.org"}}}, Group: def.ID})
			assert.Equal(t, []string{orgs.DefaultGroup}, a[0].Member.Groups)
		},
		"LockAndRoleStay": func(t *testing.T, w *world) {
			locked := w.mine.ada
			locked.Locked = true
			act(t, w, func(tx ports.Tx) error { return tx.Users().SetLocked(t.Context(), locked) })
			assert.True(t, w.imported(t, users.Enrollment{Details: users.Details{Email: "ada@example.org"}, CustomFields: metadata.Map{"a": "b"}}).Member.Locked)
		},

		"ImportMergesFields": func(t *testing.T, w *world) {
			e := users.Enrollment{Details: users.Details{Email: "eve@example.org"}, CustomFields: metadata.Map{"a": map[string]any{"b": json.Number("1.0"), "c": "d"}}}
			assert.Equal(t, "C", flags(w.imported(t, e)))
			assert.Equal(t, "-", flags(w.imported(t, e)), "the same fields again")
			e.CustomFields = metadata.Map{"a": map[string]any{"c": "e"}, "f": nil}
			a := w.imported(t, e)
			assert.Equal(t, "+", flags(a))
			want := metadata.Map{"a": map[string]any{"b": json.Number("1.0"), "c": "e"}, "f": nil}
			assert.Equal(t, want, a.Member.CustomFields)
			for _, none := range []metadata.Map{nil, {}, {"f": nil}, {"a": map[string]any{}}} {
				a := w.imported(t, users.Enrollment{Details: users.Details{Email: "eve@example.org"}, CustomFields: none})
				assert.Equal(t, "-", flags(a))
				assert.Equal(t, want, a.Member.CustomFields)
			}
		},
		"ImportKeepsExistingNames": func(t *testing.T, w *world) {
			a := w.imported(t, users.Enrollment{Details: users.Details{Email: "bob@example.org", FirstName: "Other", LastName: "Other"}, CustomFields: metadata.Map{"a": "b"}})
			assert.Equal(t, w.mine.bob.Details, a.Member.Details)
		},
		"TooLargeFieldsRefuseOneEnrollment": func(t *testing.T, w *world) {
			half := strings.Repeat("x", metadata.MaxBytes/2)
			full := w.ensure(t, w.mine, person{Username: "full@example.org", Email: "full@example.org"})
			full.CustomFields = metadata.Map{"a": half}
			act(t, w, func(tx ports.Tx) error { return tx.Users().SaveFields(t.Context(), full) })

			answers, err := w.enrolling(t.Context(), "acme", users.Batch{MergeFields: true, Group: w.mine.staff.ID, Enrollments: []users.Enrollment{
				{Details: users.Details{Email: "eve@example.org"}}, {Details: users.Details{Email: "full@example.org"}, CustomFields: metadata.Map{"b": half}}, {Details: users.Details{Email: "bob@example.org"}, CustomFields: metadata.Map{"c": "d"}}}})
			require.NoError(t, err)
			require.Len(t, answers, 3)
			require.Error(t, answers[1].Err)
			assert.Equal(t, fault.Invalid, fault.KindOf(answers[1].Err))
			assert.False(t, answers[1].Created || answers[1].Enrolled || answers[1].Changed)
			assert.Equal(t, full, w.member(t, "full@example.org"), "nothing of it is kept: no group")
			assert.Empty(t, w.addresses(t, full), "and no address")
			assert.NoError(t, answers[0].Err)
			assert.NoError(t, answers[2].Err)
			assert.Equal(t, "C+", flags(answers[0], answers[2]))
			assert.Equal(t, metadata.Map{"c": "d"}, w.member(t, "bob@example.org").CustomFields)
		},
		"ADryRunAnswersAndKeepsNothing": func(t *testing.T, w *world) {
			b := users.Batch{MergeFields: true, Group: w.mine.staff.ID, Enrollments: []users.Enrollment{
				{Details: users.Details{Email: "eve@example.org"}, CustomFields: metadata.Map{"a": "b"}}, {Details: users.Details{Email: "ada@example.org"}, CustomFields: metadata.Map{"c": "d"}}, {Details: users.Details{Email: "EVE@example.org"}}}}
			before := w.picture(t, w.mine)
			for range 2 {
				dry, err := w.dryRun(t.Context(), "acme", b)
				require.NoError(t, err)
				assert.Equal(t, "C+-", flags(dry...))
				w.unchanged(t, w.mine, before, "something was kept")
			}
			assert.Equal(t, "C+-", flags(w.enroll(t, b)...), "the real run does what the dry run said")
		},
		"AnUnknownOrganizationIsNotFound": func(t *testing.T, w *world) {
			for _, slug := range []string{"other", orgs.SystemSlug, "", "ACME"} {
				_, err := w.enrolling(t.Context(), slug, users.Batch{Enrollments: []users.Enrollment{{Details: users.Details{Email: "eve@example.org"}}}})
				require.ErrorIs(t, err, orgs.ErrNotFound)
			}
			act(t, w, func(tx ports.Tx) error {
				_, created, err := ensureUser(t.Context(), tx, users.User{Username: "eve@example.org"})
				assert.True(t, created, "no identity was left behind")
				return err
			})
		},
		"TheBytesThatMatchAreCountedBeforeTheyAreRead": func(t *testing.T, w *world) {
			bytes := func(keys ...string) int {
				return look(t, w, func(tx ports.Tx) (int, error) { return tx.Users().MatchedBytes(t.Context(), w.mine.org.ID, keys) })
			}
			before := bytes("é.ve@example.org", "other@example.org")
			e := users.Enrollment{Details: users.Details{Email: "é.ve@example.org"}, CustomFields: metadata.Map{"k": "é"}}
			eve := w.one(t, e).Member
			require.Equal(t, before+len(`{"k":"é"}`), bytes("é.ve@example.org", "other@example.org"))
			eve.Email = "other@example.org"
			act(t, w, func(tx ports.Tx) error { return tx.Users().SaveDetails(t.Context(), eve) })
			assert.Equal(t, before+2*len(`{"k":"é"}`), bytes("é.ve@example.org", "other@example.org"), "by the username, and by the e-mail")
			assert.Zero(t, bytes())
		},
		"OfSeveralMembersWithOneEmailTheFirstMatches": func(t *testing.T, w *world) {
			first := w.ensure(t, w.mine, person{Username: "first", Email: "same@example.org"})
			w.ensure(t, w.mine, person{Username: "second", Email: "same@example.org"})
			w.ensure(t, w.theirs, person{Username: "first", Email: "same@example.org"})
			w.settle(t)
			found := look(t, w, func(tx ports.Tx) ([]users.Match, error) {
				return tx.Users().Matches(t.Context(), w.mine.org.ID, []string{"same@example.org"}, 1)
			})
			assert.Equal(t, []users.Match{{Key: "same@example.org", Member: &first}}, found)
			n := look(t, w, func(tx ports.Tx) (int, error) {
				return tx.Users().MatchedBytes(t.Context(), w.mine.org.ID, []string{"same@example.org"})
			})
			assert.Equal(t, len("{}"), n, "only the first one counts")
		},
		"AnEmptyBatchHasAnEmptyAnswer": func(t *testing.T, w *world) { assert.Empty(t, w.enroll(t, users.Batch{})) },
		"LongNamesAndFieldsAreKept": func(t *testing.T, w *world) {
			e := users.Enrollment{Details: users.Details{Email: distinctRunes(242) + "@example.org", FirstName: strings.Repeat("𝔸", 200), LastName: strings.Repeat("𝔹", 200)},
				CustomFields: metadata.Map{"k": strings.Repeat("x", metadata.MaxBytes-8)}}
			a := w.one(t, e)
			assert.Equal(t, e.CustomFields, a.Member.CustomFields)
			assert.Equal(t, e.FirstName+e.LastName, a.Member.FirstName+a.Member.LastName)
			assert.Equal(t, "-", flags(w.one(t, e)))
			assert.Equal(t, []string{e.Email}, values(w.addresses(t, a.Member)))
		},
	}
}
