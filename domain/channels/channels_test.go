package channels_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
)

func TestParseProtocol(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"EMAIL", "SMS", "WEBHOOK", "SLACK", "PLAINTEXT"} {
		t.Run("Accepts/"+name, func(t *testing.T) {
			t.Parallel()
			p, err := channels.ParseProtocol("protocol", name)
			require.NoError(t, err)
			assert.Equal(t, channels.Protocol(name), p)
		})
	}
	for _, name := range []string{"", "email", "Email", "EMAIL ", "PHONE", "FAX"} {
		t.Run("Refuses/"+name, func(t *testing.T) {
			t.Parallel()
			_, err := channels.ParseProtocol("protocol", name)
			require.EqualError(t, err, "protocol: must be one of EMAIL, SMS, WEBHOOK, SLACK, PLAINTEXT")
		})
	}
}

// accepted is the table of decisions 5.
var accepted = map[channels.Protocol]users.AddressType{
	channels.EMAIL: users.Email, channels.SMS: users.Phone, channels.WEBHOOK: users.URL, channels.SLACK: users.Generic,
	channels.PLAINTEXT: users.Generic,
}

func TestAccepts(t *testing.T) {
	t.Parallel()
	for protocol, want := range accepted {
		for _, kind := range []users.AddressType{users.Email, users.Phone, users.URL, users.Generic, ""} {
			t.Run(string(protocol)+"/"+string(kind), func(t *testing.T) {
				t.Parallel()
				assert.Equal(t, kind == want, protocol.Accepts(kind))
			})
		}
	}
	t.Run("AnUnknownProtocolAcceptsNothing", func(t *testing.T) {
		t.Parallel()
		for _, kind := range []users.AddressType{users.Email, users.Phone, users.URL, users.Generic, ""} {
			assert.False(t, channels.Protocol("FAX").Accepts(kind), kind)
		}
	})
}

func TestNew(t *testing.T) {
	t.Parallel()
	t.Run("ANewChannelIsActiveAndNotPreferred", func(t *testing.T) {
		t.Parallel()
		c, err := channels.New(" Mail ", "EMAIL", "smtp")
		require.NoError(t, err)
		assert.Equal(t, channels.Channel{Name: "Mail", Protocol: channels.EMAIL, Driver: "smtp", Active: true, Weight: channels.DefaultWeight}, c)
	})
	t.Run("NamesEveryMistakeAtOnce", func(t *testing.T) {
		t.Parallel()
		_, err := channels.New(" ", "FAX", strings.Repeat("a", channels.MaxDriver+1))
		var e *fault.Error
		require.ErrorAs(t, err, &e)
		assert.Equal(t, fault.Fields{{Name: "name", Messages: []string{"is required"}},
			{Name: "protocol", Messages: []string{"must be one of EMAIL, SMS, WEBHOOK, SLACK, PLAINTEXT"}},
			{Name: "driver", Messages: []string{"is longer than 50 characters"}}}, e.Fields())
	})
	t.Run("TheDriverIsASlug", func(t *testing.T) {
		t.Parallel()
		_, err := channels.New("Mail", "EMAIL", strings.Repeat("a", channels.MaxDriver))
		require.NoError(t, err)
		_, err = channels.New("Mail", "EMAIL", "SMTP")
		require.ErrorContains(t, err, "driver: must consist of lower-case letters")
	})
}

// shop is the project that the tests below ask for.
const shop orgs.ProjectID = 10

func channel(id channels.ID, project orgs.ProjectID, p channels.Protocol, flags string) channels.Channel {
	return channels.Channel{ID: id, Project: project, Protocol: p, Preferred: strings.Contains(flags, "preferred"),
		Active: !strings.Contains(flags, "inactive")}
}

func ids(cs []channels.Channel) []channels.ID {
	found := []channels.ID{}
	for _, c := range cs {
		found = append(found, c.ID)
	}
	return found
}

func TestPreferredFor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind users.AddressType
		all  []channels.Channel
		want []channels.ID
	}{
		"None": {users.Email, nil, []channels.ID{}},
		"TheProjectsBeforeTheOrganizations": {users.Email, []channels.Channel{
			channel(1, 0, channels.EMAIL, "preferred"), channel(2, shop, channels.EMAIL, "preferred")}, []channels.ID{2}},
		"TheProjectsBeforeTheOrganizationsInAnyOrder": {users.Email, []channels.Channel{
			channel(2, shop, channels.EMAIL, "preferred"), channel(3, 0, channels.EMAIL, "preferred")}, []channels.ID{2}},
		"ElseTheOrganizations": {users.Email, []channels.Channel{
			channel(1, 0, channels.EMAIL, "preferred"), channel(2, shop, channels.EMAIL, "")}, []channels.ID{1}},
		"AnInactiveOneOfTheProjectIsIgnored": {users.Email, []channels.Channel{
			channel(1, 0, channels.EMAIL, "preferred"), channel(2, shop, channels.EMAIL, "preferred inactive")}, []channels.ID{1}},
		"AnInactiveOneOfTheOrganizationIsIgnored": {users.Email, []channels.Channel{channel(1, 0, channels.EMAIL, "preferred inactive")}, []channels.ID{}},
		"NotPreferredIsIgnored":                   {users.Email, []channels.Channel{channel(1, 0, channels.EMAIL, ""), channel(2, shop, channels.EMAIL, "")}, []channels.ID{}},
		"AnotherProjectsIsIgnored": {users.Email, []channels.Channel{
			channel(1, 0, channels.EMAIL, "preferred"), channel(2, shop+1, channels.EMAIL, "preferred")}, []channels.ID{1}},
		"AnotherProtocolsIsIgnored": {users.Phone, []channels.Channel{channel(1, 0, channels.EMAIL, "preferred"), channel(2, 0, channels.SMS, "preferred")}, []channels.ID{2}},
		"OnePerProtocolForGeneric": {users.Generic, []channels.Channel{
			channel(4, 0, channels.PLAINTEXT, "preferred"), channel(3, 0, channels.SLACK, "preferred"), channel(9, shop, channels.SLACK, "preferred")}, []channels.ID{4, 9}},
		"URL": {users.URL, []channels.Channel{channel(1, shop, channels.WEBHOOK, "preferred")}, []channels.ID{1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, c.want, ids(channels.PreferredFor(c.kind, shop, c.all)))
		})
	}
	t.Run("WithoutAProjectOnlyTheOrganizationsCount", func(t *testing.T) {
		t.Parallel()
		all := []channels.Channel{channel(1, 0, channels.EMAIL, "preferred"), channel(2, shop, channels.EMAIL, "preferred")}
		assert.Equal(t, []channels.ID{1}, ids(channels.PreferredFor(users.Email, 0, all)))
	})
	t.Run("AppliesToAllChannels", func(t *testing.T) {
		t.Parallel()
		one := rapid.Custom(func(t *rapid.T) channels.Channel {
			return channels.Channel{
				Project:   rapid.SampledFrom([]orgs.ProjectID{0, shop, shop + 1}).Draw(t, "project"),
				Protocol:  rapid.SampledFrom([]channels.Protocol{channels.EMAIL, channels.SLACK, channels.PLAINTEXT}).Draw(t, "protocol"),
				Preferred: rapid.Bool().Draw(t, "preferred"), Active: rapid.Bool().Draw(t, "active"),
			}
		})
		rapid.Check(t, func(t *rapid.T) {
			all := rapid.SliceOfN(one, 0, 12).Draw(t, "all")
			for i := range all {
				all[i].ID = channels.ID(i + 1)
			}
			kind := rapid.SampledFrom([]users.AddressType{users.Email, users.Generic, users.URL}).Draw(t, "type")
			got := channels.PreferredFor(kind, shop, all)
			for protocol, accepts := range accepted {
				wanted := 0 // how near the best candidate is
				for _, c := range all {
					if c.Protocol == protocol && accepts == kind && c.Active && c.Preferred {
						wanted = max(wanted, map[orgs.ProjectID]int{shop: 2, 0: 1}[c.Project])
					}
				}
				found := 0
				for _, c := range got {
					if c.Protocol == protocol {
						require.Zero(t, found, "two of one protocol")
						require.True(t, c.Active && c.Preferred)
						found = map[orgs.ProjectID]int{shop: 2, 0: 1}[c.Project]
					}
				}
				require.Equal(t, wanted, found, protocol)
			}
		})
	})
}

func TestAssign(t *testing.T) {
	t.Parallel()
	a := users.Address{ID: 3, Member: 4, Value: "ada@example.org", Name: "email", Type: users.Email}
	c := channels.Channel{ID: 5, Organization: 6, Project: shop, Name: "Mail", Protocol: channels.EMAIL, Driver: "smtp"}
	assert.Equal(t, channels.Assignment{Address: 3, Value: "ada@example.org", Channel: 5, Project: shop, Name: "Mail",
		Protocol: channels.EMAIL, Active: true, Validated: true}, channels.Assign(a, c), "it is active and already validated")
}

func TestInProjectElseOrganization(t *testing.T) {
	t.Parallel()
	own, shared := channels.Assignment{ID: 1, Project: shop}, channels.Assignment{ID: 2}
	second, third := channels.Assignment{ID: 3, Project: shop}, channels.Assignment{ID: 4}
	for name, c := range map[string]struct{ in, want []channels.Assignment }{
		"None":                          {nil, nil},
		"TheProjectsHideTheOthers":      {[]channels.Assignment{own, shared, second, third}, []channels.Assignment{own, second}},
		"InAnyOrder":                    {[]channels.Assignment{shared, own}, []channels.Assignment{own}},
		"ElseTheOrganizations":          {[]channels.Assignment{shared, third}, []channels.Assignment{shared, third}},
		"OnlyTheProjects":               {[]channels.Assignment{own}, []channels.Assignment{own}},
		"InactiveOnesAreAddedAsTheyAre": {[]channels.Assignment{{ID: 9, Project: shop}, shared}, []channels.Assignment{{ID: 9, Project: shop}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := append([]channels.Assignment(nil), c.in...)
			assert.Equal(t, c.want, channels.InProjectElseOrganization(c.in))
			assert.Equal(t, before, c.in, "the argument was changed")
		})
	}
}
