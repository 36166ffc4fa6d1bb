package users_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
)

// acmeGroups are the groups that everybody gets in these tests.
var acmeGroups = []orgs.Group{{ID: 11, Organization: 1, Name: "Staff"}, {ID: 10, Organization: 1, Name: orgs.DefaultGroup}}

// there returns a member of acme with an id and a username, who has all default objects.
func there(id users.MemberID, username string) *users.Member {
	return &users.Member{ID: id, Organization: 1, User: users.User{ID: users.ID(id) + 100, Username: username}, Details: users.Details{Email: username},
		Role: users.RoleMember, CustomFields: metadata.Map{}, Groups: []string{orgs.DefaultGroup, "Staff"}}
}

// byUsername matches a member by the username, and byEmail by the e-mail.
func byUsername(m *users.Member, key string, holds bool) users.Match {
	return users.Match{Key: key, User: m.User.ID, Member: m, Holds: holds}
}

func byEmail(m *users.Member, key string, holds bool) users.Match {
	return users.Match{Key: key, Member: m, Holds: holds}
}

// enrollments returns enrollments of people with these e-mails.
func enrollments(emails ...string) []users.Enrollment {
	es := make([]users.Enrollment, len(emails))
	for i, email := range emails {
		es[i] = users.Enrollment{Details: users.Details{Email: email, FirstName: "First"}}
	}
	return es
}

func TestPlanOfANewUser(t *testing.T) {
	t.Parallel()
	p := users.NewPlan(1, acmeGroups, users.Batch{Enrollments: enrollments("Ada@example.org")}, nil)
	m := &users.Member{Organization: 1, User: users.User{Username: "Ada@example.org"}, Details: users.Details{Email: "Ada@example.org", FirstName: "First"},
		Role: users.RoleMember, CustomFields: metadata.Map{}, Groups: []string{orgs.DefaultGroup, "Staff"}}
	assert.Equal(t, users.Writes{Organization: 1, Identities: []*users.Member{m}, Members: []*users.Member{m},
		Links:     []users.GroupLink{{Member: m, Group: 11}, {Member: m, Group: 10}},
		Addresses: []users.EnrolledAddress{{Member: m, Email: "Ada@example.org"}}}, p.Writes)
	p.Writes.Members[0].ID, p.Writes.Identities[0].User.ID = 7, 8 // as the store does
	done := p.Enrolled()
	require.Len(t, done, 1)
	assert.True(t, done[0].Created && done[0].Enrolled && !done[0].Changed)
	assert.Equal(t, users.MemberID(7), done[0].Member.ID)
	assert.Equal(t, users.ID(8), done[0].Member.User.ID)
}

func TestPlanExistingIdentity(t *testing.T) {
	t.Parallel()
	p := users.NewPlan(1, acmeGroups, users.Batch{Enrollments: enrollments("Ada@example.org")}, []users.Match{{Key: "ada@example.org", User: 5}})
	assert.Empty(t, p.Writes.Identities)
	require.Len(t, p.Writes.Members, 1)
	assert.Equal(t, users.User{ID: 5, Username: "Ada@example.org"}, p.Writes.Members[0].User, "spelled as it was sent here")
	assert.False(t, p.Writes.Shared)
	assert.True(t, p.Enrolled()[0].Enrolled && !p.Enrolled()[0].Created)
}

func TestPlanOfAMember(t *testing.T) {
	t.Parallel()
	const key = "ada@example.org"
	one := users.Batch{Enrollments: []users.Enrollment{{Details: users.Details{Email: key, FirstName: "Other"}, CustomFields: metadata.Map{"a": "b"}}}}
	t.Run("CompleteMemberStaysAsIs", func(t *testing.T) {
		t.Parallel()
		p := users.NewPlan(1, acmeGroups, one, []users.Match{byUsername(there(3, key), key, true)})
		assert.Equal(t, users.Writes{Organization: 1}, p.Writes)
		assert.Equal(t, []users.Enrolled{{Member: *there(3, key)}}, p.Enrolled(), "names and fields stay")
	})
	t.Run("GainsTheMissing", func(t *testing.T) {
		t.Parallel()
		m := there(3, key)
		m.Groups = []string{"Board", orgs.DefaultGroup}
		p := users.NewPlan(1, acmeGroups, one, []users.Match{byUsername(m, key, false)})
		done := p.Enrolled()
		assert.True(t, done[0].Changed && !done[0].Enrolled)
		assert.Equal(t, []string{"Board", orgs.DefaultGroup, "Staff"}, done[0].Member.Groups)
		assert.Equal(t, []string{"Board", orgs.DefaultGroup}, m.Groups, "what was found is the caller's")
		require.Len(t, p.Writes.Links, 1)
		assert.Equal(t, orgs.GroupID(11), p.Writes.Links[0].Group)
		require.Len(t, p.Writes.Addresses, 1)
		assert.True(t, p.Writes.Shared, "others may add the same meanwhile")
		assert.Empty(t, p.Writes.Fields)
	})
	t.Run("IsFoundByTheUsernameBeforeTheEmail", func(t *testing.T) {
		t.Parallel()
		p := users.NewPlan(1, acmeGroups, one, []users.Match{byEmail(there(2, "other"), key, true), byUsername(there(3, key), key, true)})
		assert.Equal(t, users.MemberID(3), p.Enrolled()[0].Member.ID)
		p = users.NewPlan(1, acmeGroups, one, []users.Match{byEmail(there(2, "other"), key, true), {Key: key, User: 9}})
		assert.True(t, p.Enrolled()[0].Enrolled, "even when they are a member of another organization alone")
	})
	t.Run("AmbiguousEmailIsTheFirst", func(t *testing.T) {
		t.Parallel()
		p := users.NewPlan(1, acmeGroups, one, []users.Match{byEmail(there(4, "c"), key, true), byEmail(there(2, "a"), key, true), byEmail(there(3, "b"), key, true)})
		assert.Equal(t, users.MemberID(2), p.Enrolled()[0].Member.ID)
		assert.Equal(t, "a", p.Enrolled()[0].Member.User.Username)
	})
}

func TestPlanMergesFields(t *testing.T) {
	t.Parallel()
	const key = "ada@example.org"
	merging := func(fields metadata.Map) users.Batch {
		return users.Batch{MergeFields: true, Enrollments: []users.Enrollment{{Details: users.Details{Email: key}, CustomFields: fields}}}
	}
	had := there(3, key)
	had.CustomFields = metadata.Map{"a": metadata.Map{"x": "1"}, "b": "2"}
	found := []users.Match{byUsername(had, key, true)}
	t.Run("EarlierMembers", func(t *testing.T) {
		t.Parallel()
		p := users.NewPlan(1, acmeGroups, merging(metadata.Map{"b": "3"}), found)
		require.Len(t, p.Writes.Fields, 1)
		assert.Equal(t, "3", p.Writes.Fields[0].CustomFields["b"])
		assert.Contains(t, p.Writes.Fields[0].CustomFields, "a")
		assert.True(t, p.Enrolled()[0].Changed)
		assert.False(t, p.Writes.Shared)
		assert.Equal(t, "2", had.CustomFields["b"], "what was found is the caller's")
	})
	t.Run("NoDifference", func(t *testing.T) {
		t.Parallel()
		for _, same := range []metadata.Map{nil, {}, {"b": "2"}} {
			p := users.NewPlan(1, acmeGroups, merging(same), found)
			assert.Equal(t, users.Writes{Organization: 1}, p.Writes)
			assert.False(t, p.Enrolled()[0].Changed)
		}
	})
	t.Run("AndRefusesThoseThatGrowTooLarge", func(t *testing.T) {
		t.Parallel()
		half := strings.Repeat("x", metadata.MaxBytes/2)
		full := there(3, key)
		full.CustomFields, full.Groups = metadata.Map{"a": half}, nil
		b := merging(metadata.Map{"b": half})
		b.Enrollments = append(b.Enrollments, enrollments("new@example.org")...)
		p := users.NewPlan(1, acmeGroups, b, []users.Match{byUsername(full, key, false)})
		done := p.Enrolled()
		require.ErrorIs(t, done[0].Err, metadata.ErrTooLarge)
		assert.True(t, done[1].Created, "the others go on")
		assert.Len(t, p.Writes.Links, 2, "nothing of the refused one is kept")
		assert.Len(t, p.Writes.Addresses, 1)
	})
	t.Run("TwoEnrollmentsOfOneMember", func(t *testing.T) {
		t.Parallel()
		m := there(3, "eve@example.org")
		m.Email, m.Groups = "other@example.org", nil
		p := users.NewPlan(1, acmeGroups, users.Batch{MergeFields: true, Enrollments: []users.Enrollment{
			{Details: users.Details{Email: "other@example.org"}, CustomFields: metadata.Map{"b": "2", "both": "second"}}, {Details: users.Details{Email: "eve@example.org"}, CustomFields: metadata.Map{"a": "1", "both": "first"}}}},
			[]users.Match{byUsername(m, "eve@example.org", false), byEmail(m, "other@example.org", false)})
		require.Len(t, p.Writes.Fields, 1)
		assert.Equal(t, metadata.Map{"a": "1", "b": "2", "both": "second"}, p.Writes.Fields[0].CustomFields, "in the order of the keys")
		assert.Len(t, p.Writes.Links, 2, "each group once")
		assert.Len(t, p.Writes.Addresses, 2)
		done := p.Enrolled()
		assert.Equal(t, done[0].Member, done[1].Member)
	})
}

func TestPlanRefusesToChangeSomeMembers(t *testing.T) {
	t.Parallel()
	above := errors.New("stands above")
	lacking := there(3, "boss@example.org")
	lacking.Groups = nil
	p := users.NewPlan(1, acmeGroups, users.Batch{
		Enrollments: enrollments("boss@example.org", "same@example.org", "new@example.org"),
		MayChange:   func(...users.Member) error { return above },
	}, []users.Match{byUsername(lacking, "boss@example.org", true), byUsername(there(4, "same@example.org"), "same@example.org", true)})
	done := p.Enrolled()
	assert.Equal(t, users.Enrolled{Err: above}, done[0])
	assert.NoError(t, done[1].Err, "who stays as they are is not changed")
	assert.True(t, done[2].Created, "nobody new is anybody's superior")
	assert.Len(t, p.Writes.Members, 1)
	assert.Len(t, p.Writes.Links, 2, "of the new one")
}

func TestPlanSortsDistinctKeys(t *testing.T) {
	t.Parallel()
	b := users.Batch{Enrollments: enrollments("zoe@example.org", "É.ve@example.org", "ada@example.org", "e\u0301.VE@example.org")}
	assert.Equal(t, []string{"ada@example.org", "zoe@example.org", "é.ve@example.org"}, b.Keys())
	p := users.NewPlan(1, acmeGroups, b, nil)
	var order []string
	for _, m := range p.Writes.Members {
		order = append(order, m.User.Username)
	}
	assert.Equal(t, []string{"ada@example.org", "zoe@example.org", "É.ve@example.org"}, order)
	done := p.Enrolled()
	assert.True(t, done[1].Created)
	assert.False(t, done[3].Created || done[3].Enrolled || done[3].Changed, "the second of a key is not new")
	assert.Equal(t, done[1].Member, done[3].Member)
}
