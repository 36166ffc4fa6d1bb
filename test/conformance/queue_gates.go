package conformance

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/subscriptions"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// A maze has an assignment for every combination of open and closed gates. A path is such a
// combination: each bit is a gate.
const (
	mazeMembers  = 1 << 6 // locked, registered, inactive, locked in the application, disabled, unsubscribed
	mazeLinks    = 1 << 2 // the assignment inactive, not validated
	mazeChannels = 1 << 3 // inactive, not the event's, without a template
)

// bit reports whether a bit of a path is set.
func bit(path, n int) bool { return path>>n&1 == 1 }

// maze has the assignments by member, link and channel, and the expected gates of each.
type maze struct {
	members  []users.Member
	channels []channels.Channel
	gates    map[channels.AssignmentID]deliveries.Gates
	links    map[channels.AssignmentID]channels.Assignment
}

// newMaze adds everybody to the list of the order event's notification. shut closes the gates of
// members and channels.
func newMaze(t *testing.T, w *world) *maze {
	t.Helper()
	m := &maze{gates: map[channels.AssignmentID]deliveries.Gates{}, links: map[channels.AssignmentID]channels.Assignment{}}
	w.hear(t)
	w.unsubscribe(t, w.mine.shipped, w.mine.adaByMail)
	act(t, w, func(tx ports.Tx) error {
		_, err := tx.Lists().RemoveFromPinned(t.Context(), w.mine.web, w.mine.ada.ID)
		if err != nil {
			return err
		}
		n := w.mine.shipped // a list without Ada
		l := w.mine.news
		l, err = tx.Lists().Create(t.Context(), lists.List{Organization: l.Organization, Project: l.Project, Name: "Maze"})
		n.List = l.ID
		w.mine.news = l
		if err != nil {
			return err
		}
		return tx.Subscriptions().Save(t.Context(), n)
	})
	for c := range mazeChannels {
		opened := w.open(t, channels.Channel{Name: fmt.Sprintf("Channel %d", c), Protocol: channels.EMAIL, Active: true})
		if !bit(c, 2) {
			w.write(t, opened)
		}
		m.channels = append(m.channels, opened)
	}
	for member := range mazeMembers {
		u := w.ensure(t, w.mine, person{Username: fmt.Sprintf("member %d", member)})
		m.members = append(m.members, u)
		var as []users.Address
		for path := range mazeLinks * mazeChannels {
			as = append(as, users.NewEmailAddress(fmt.Sprintf("path%d-%d@example.org", member, path)))
		}
		held, _ := w.hold(t, u, as...)
		var links []channels.Assignment
		for path, a := range held {
			link := channels.Assign(a, m.channels[path%mazeChannels])
			link.Active, link.Validated = !bit(path/mazeChannels, 0), !bit(path/mazeChannels, 1)
			links = append(links, link)
		}
		links = w.assign(t, links...)
		w.add(t, w.mine.news, idsOf(links)...)
		for path, a := range links {
			m.links[a.ID] = a
			m.gates[a.ID] = deliveries.Gates{MemberLocked: bit(member, 0), HasMembership: bit(member, 1), MembershipActive: bit(member, 1) && !bit(member, 2),
				MembershipLocked: bit(member, 3), MembershipEnabled: bit(member, 1) && !bit(member, 4), OptedOut: bit(member, 5),
				AssignmentActive: a.Active, AssignmentValidated: a.Validated, ChannelActive: !bit(path%mazeChannels, 0), ChannelAllowed: !bit(path%mazeChannels, 1),
				HasTemplate: !bit(path%mazeChannels, 2)}
		}
	}
	return m
}

// shut closes the gates of members and channels.
func (m *maze) shut(t *testing.T, w *world) {
	t.Helper()
	act(t, w, func(tx ports.Tx) error {
		for path, u := range m.members {
			u.Locked = bit(path, 0)
			err := tx.Users().SetLocked(t.Context(), u)
			if err == nil && bit(path, 1) {
				ms := applications.NewMembership(w.mine.web.ID, u.ID, false)
				ms.Active, ms.EnableNotifications = !bit(path, 2), !bit(path, 4)
				err = saveMembership(t.Context(), tx, w.mine.web, ms)
			}
			if err == nil {
				err = tx.Applications().SetLocked(t.Context(), w.mine.web, u.ID, bit(path, 3))
			}
			if err != nil {
				return err
			}
		}
		limited := w.mine.order
		for path, c := range m.channels {
			c.Active = !bit(path, 0)
			if err := tx.Channels().Save(t.Context(), c); err != nil {
				return err
			}
			if !bit(path, 1) {
				limited.Channels = append(limited.Channels, events.Channel{ID: c.ID})
			}
		}
		return tx.Events().Save(t.Context(), limited)
	})
	for id, a := range m.links {
		if m.gates[id].OptedOut {
			w.optOut(t, deliveries.OptOut{Member: m.memberOf(t, a), AddressKey: a.Value, Notification: w.mine.shipped.ID}, true)
		}
	}
}

// memberOf returns the member with the address of an assignment.
func (m *maze) memberOf(t *testing.T, a channels.Assignment) users.MemberID {
	t.Helper()
	var member, path int
	_, err := fmt.Sscanf(a.Value, "path%d-%d@example.org", &member, &path)
	require.NoError(t, err)
	return m.members[member].ID
}

func gateCases() cases {
	return cases{
		"CheckedAtExpansion": func(t *testing.T, w *world) {
			m := newMaze(t, w)
			m.shut(t, w)
			f := w.forecast(t, w.mine.occurrence(nil, nil), 1_000)
			o := w.trigger(t, w.mine.occurrence(nil, nil))
			w.expand(t, 500)
			made := w.made(t, o)
			assert.Len(t, made, mazeMembers*mazeLinks*mazeChannels)
			pending := map[channels.AssignmentID]bool{}
			for _, d := range made {
				reason := m.gates[d.Assignment].Closed()
				assert.Equal(t, reason, d.Reason)
				assert.Equal(t, reason != "", d.State == deliveries.Skipped)
				assert.Equal(t, reason == "", d.State == deliveries.Pending)
				assert.Equal(t, reason == "", d.Finished.IsZero())
				pending[d.Assignment] = reason == ""
			}

			// The forecast has the same counts.
			counted := map[deliveries.Reason]int{}
			for _, g := range f.Groups {
				counted[g.Reason] += g.Recipients
			}
			for id := range m.gates {
				counted[m.gates[id].Closed()]--
			}
			for reason, n := range counted {
				assert.Zero(t, n, reason)
			}
			assert.Len(t, f.Jobs, 8+1) // by one channel and one kind of link: without a membership its three flags do not matter

			// The candidates of each member are the same.
			for _, u := range m.members {
				for _, c := range w.candidates(t, o, u.ID) {
					assert.Equal(t, m.gates[c.Assignment.ID], c.Gates)
					assert.Equal(t, m.links[c.Assignment.ID].Active, c.AssignmentActive)
					_, delivered := c.Verdict()
					assert.Equal(t, pending[c.Assignment.ID], delivered)
				}
			}
		},
		"CheckedAtClaim": func(t *testing.T, w *world) {
			m := newMaze(t, w)
			o := w.trigger(t, w.mine.occurrence(nil, nil))
			w.expand(t, 500)
			assert.Equal(t, map[deliveries.State]int{deliveries.Pending: mazeMembers * mazeChannels / 2, deliveries.Skipped: mazeMembers * mazeChannels * 7 / 2}, w.counts(t, o))
			by := map[deliveries.ID]channels.AssignmentID{}
			for _, d := range w.made(t, o) {
				by[d.ID] = d.Assignment
			}
			m.shut(t, w)
			for _, c := range m.channels {
				for _, j := range w.claim(t, c, "one", 10_000, lease) {
					assert.Equal(t, m.gates[by[j.ID]], j.Gates)
					delete(by, j.ID)
				}
			}
			assert.Len(t, by, mazeMembers*mazeChannels*7/2, "only what was skipped is left")
		},
	}
}

// forecast returns the forecast of an occurrence.
func (w *world) forecast(t *testing.T, o events.Occurrence, samples int) deliveries.Forecast {
	t.Helper()
	return look(t, w, func(tx ports.Tx) (deliveries.Forecast, error) {
		return tx.Deliveries().Forecast(t.Context(), o, samples)
	})
}

// sampled returns deliveries in the order in which a forecast takes samples: the first of each
// notification and channel, then the second of each.
func sampled(made []deliveries.Delivery) []deliveries.Delivery {
	type by struct {
		notification subscriptions.NotificationID
		channel      string
	}
	nth, seen := map[deliveries.ID]int{}, map[by]int{}
	for _, d := range made {
		seen[by{d.Notification, d.Channel}]++
		nth[d.ID] = seen[by{d.Notification, d.Channel}]
	}
	return slices.SortedStableFunc(slices.Values(made), func(a, b deliveries.Delivery) int {
		return cmp.Or(cmp.Compare(nth[a.ID], nth[b.ID]), cmp.Compare(a.Notification, b.Notification))
	})
}

// candidates returns the candidates for deliveries of an occurrence to a member.
func (w *world) candidates(t *testing.T, o events.Occurrence, m users.MemberID) []deliveries.Candidate {
	t.Helper()
	return look(t, w, func(tx ports.Tx) ([]deliveries.Candidate, error) {
		return tx.Deliveries().Candidates(t.Context(), o, m)
	})
}

func forecastCases() cases {
	return cases{
		"CountsTheExpandedDeliveries": func(t *testing.T, w *world) {
			w.ready(t)
			o := w.mine
			other := w.notify(t, o.order, "Other")
			byShop := w.assign(t, channels.Assign(o.adaMail, o.shopMail))[0]
			held, _ := w.hold(t, o.bob, users.NewEmailAddress("Ada@Example.org"))
			twin := w.assign(t, channels.Assign(held[0], o.mail))[0]
			byAnnex := channels.Assign(o.bobMail, o.shopMail)
			byAnnex.Active = false
			w.add(t, o.news, byShop.ID, twin.ID, w.assign(t, byAnnex)[0].ID)
			w.subscribe(t, other, twin, true)
			w.subscribe(t, other, o.adaByText, true)
			w.lockMember(t, o.bob, true)
			for _, options := range [][2][]string{{nil, nil}, {{"ada@example.org"}, nil}, {nil, {"Mail", "Text"}}, {{"bob@example.org"}, {"Shop mail"}}} {
				want := w.mine.occurrence(options[0], options[1])
				f := w.forecast(t, want, 3)
				stored := w.trigger(t, want)
				w.expand(t, 2)
				assert.Equal(t, groupsOf(w, w.made(t, stored), 3), f.Groups)
				var sent []deliveries.Delivery
				people := map[string]bool{}
				for _, d := range w.made(t, stored) {
					if d.State == deliveries.Pending {
						sent = append(sent, d)
						people[d.Username] = true
					}
				}
				assert.Len(t, people, f.People)
				sent = sampled(sent)
				require.Len(t, f.Jobs, min(3, len(sent)))
				for i, j := range f.Jobs {
					assert.Equal(t, sent[i].Address, j.Address)
					assert.Equal(t, sent[i].Notification, j.Notification)
					assert.Empty(t, j.Gates.Closed())
					assert.Equal(t, sent[i].Username, j.Recipient.Username)
				}
			}
		},
		"WritesNothing": func(t *testing.T, w *world) {
			w.ready(t)
			f := w.forecast(t, w.mine.occurrence(nil, nil), 1)
			assert.Equal(t, []deliveries.Group{{Notification: w.mine.shipped.ID, Name: "Shipped", Channel: "Mail", Recipients: 2}}, f.Groups)
			assert.Len(t, f.Jobs, 1)
			assert.Empty(t, w.expand(t, 10))
		},
		"ACandidateKnowsHowItIsReached": func(t *testing.T, w *world) {
			w.ready(t)
			o := w.mine
			w.subscribe(t, o.shipped, o.adaByText, false)
			byShop := w.assign(t, channels.Assign(o.adaMail, o.shopMail))[0]
			w.subscribe(t, o.shipped, byShop, true)
			other := w.notify(t, o.order, "Other")
			act(t, w, func(tx ports.Tx) error { other.Active = false; return tx.Subscriptions().Save(t.Context(), other) })
			w.subscribe(t, other, o.adaByText, true)
			stored := w.trigger(t, w.mine.occurrence(nil, []string{"Mail", "Shop mail"}))
			w.expand(t, 10)
			shipped := w.notification(t, o.shipped.ID)
			open := deliveries.Gates{HasMembership: true, MembershipActive: true, MembershipEnabled: true, AssignmentActive: true, AssignmentValidated: true,
				ChannelActive: true, ChannelAllowed: true, HasTemplate: true}
			assert.Equal(t, []deliveries.Candidate{
				{Notification: shipped, ListName: "News", Assignment: byShop, AssignmentActive: true, Subscribed: true, SubscriptionActive: true, ChosenByOptions: true, Gates: open},
				{Notification: shipped, ListName: "News", Assignment: o.adaByMail, AssignmentActive: true, OnList: true, Subscribed: true, SubscriptionActive: true,
					ChosenByOptions: true, Covered: true, Gates: open},
				{Notification: shipped, ListName: "News", Assignment: o.adaByText, AssignmentActive: true, Subscribed: true, Gates: open},
				{Notification: other, Assignment: o.adaByText, AssignmentActive: true, Subscribed: true, SubscriptionActive: true, Gates: open},
			}, w.candidates(t, stored, o.ada.ID))
			assert.Empty(t, w.candidates(t, stored, w.theirs.ada.ID))
			limited := w.mine.occurrence([]string{"bob@example.org"}, nil)
			for _, c := range w.candidates(t, limited, o.ada.ID) {
				assert.False(t, c.ChosenByOptions)
			}
			for _, c := range w.candidates(t, limited, o.bob.ID) {
				assert.True(t, c.ChosenByOptions)
			}
		},
	}
}

// groupsOf counts deliveries as a forecast does.
func groupsOf(w *world, made []deliveries.Delivery, samples int) []deliveries.Group {
	name := map[subscriptions.NotificationID]string{w.mine.shipped.ID: "Shipped"}
	var groups []deliveries.Group
	for _, d := range made {
		g := deliveries.Group{Notification: d.Notification, Name: cmp.Or(name[d.Notification], "Other"), Channel: d.Channel, Reason: d.Reason}
		i := slices.IndexFunc(groups, func(known deliveries.Group) bool {
			return known.Notification == g.Notification && known.Channel == g.Channel && known.Reason == g.Reason
		})
		if i < 0 {
			groups = append(groups, g)
			i = len(groups) - 1
		}
		if d.Reason != "" && groups[i].Recipients < samples && !slices.Contains(groups[i].Users, d.Username) {
			groups[i].Users = append(groups[i].Users, d.Username)
		}
		groups[i].Recipients++
	}
	var order []deliveries.Reason // delivered first, then as the gates are asked
	order = append(order, "")
	for _, g := range (deliveries.Gates{}).All() {
		order = append(order, g.Reason)
	}
	slices.SortFunc(groups, func(a, b deliveries.Group) int {
		return cmp.Or(cmp.Compare(a.Notification, b.Notification), cmp.Compare(slices.Index(order, a.Reason), slices.Index(order, b.Reason)), cmp.Compare(a.Channel, b.Channel))
	})
	return groups
}
