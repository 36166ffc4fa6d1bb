package conformance

import (
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/subscriptions"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// raceCases let units of work delete what others depend on. Each looks up first, as every use case
// does, so that the later one is retried and finds nothing. No answer may be an internal error.
func raceCases() cases {
	return cases{
		"EnrollAndRemove": func(t *testing.T, w *world) {
			for _, err := range together(16, func(i int) error {
				if i%2 == 0 {
					_, err := w.enrolling(t.Context(), "acme", users.Batch{Enrollments: people(3)})
					return err
				}
				return w.Update(t.Context(), func(tx ports.Tx) error {
					m, err := tx.Users().ByUsername(t.Context(), w.mine.org.ID, people(3)[i%3].Email)
					if errors.Is(err, users.ErrNotFound) {
						return nil
					}
					if err != nil {
						return err
					}
					return tx.Users().Remove(t.Context(), m)
				})
			}) {
				require.NoError(t, err)
			}
			for _, e := range w.enroll(t, users.Batch{Enrollments: people(3)}) {
				assert.Equal(t, []string{orgs.DefaultGroup}, e.Member.Groups)
			}
		},
		"RegisterAndRemove": func(t *testing.T, w *world) {
			o := w.mine
			register := func(tx ports.Tx) error {
				m, err := ensurePerson(t.Context(), tx, o.org.ID, person{Username: "eve", Email: "eve@example.org"})
				if err != nil {
					return err
				}
				if _, err := registrationOf(t.Context(), tx, o.web, m.ID); err != nil {
					return err
				}
				held, _, err := ensureAddresses(t.Context(), tx, o.org.ID, m.ID, []users.Address{users.NewEmailAddress("eve@example.org")})
				if err != nil {
					return err
				}
				assigned, _, err := tx.Assignments().Ensure(t.Context(), o.org.ID, []channels.Assignment{channels.Assign(held[0], o.mail)})
				if err != nil {
					return err
				}
				if _, err := tx.Lists().Add(t.Context(), o.pinned, idsOf(assigned)); err != nil {
					return err
				}
				_, _, err = tx.Subscriptions().Subscribe(t.Context(), o.shipped, assigned[0].ID, true)
				return err
			}
			for _, err := range together(32, func(i int) error {
				return w.Update(t.Context(), func(tx ports.Tx) error {
					if i%2 == 0 {
						return register(tx)
					}
					m, err := tx.Users().ByUsername(t.Context(), o.org.ID, "eve")
					if err == nil {
						err = tx.Users().Remove(t.Context(), m)
					}
					if errors.Is(err, users.ErrNotFound) {
						return nil
					}
					return err
				})
			}) {
				require.NoError(t, err)
			}
			act(t, w, register)
			assert.Len(t, w.recipients(t, o.pinned), 2)
		},
		"UseAndDelete": func(t *testing.T, w *world) {
			o := w.mine
			steps := []func(tx ports.Tx, i int) error{
				func(tx ports.Tx, _ int) error { // the list is made
					_, err := tx.Lists().Create(t.Context(), lists.List{Organization: o.org.ID, Project: o.shop.ID, Name: "Fleeting"})
					return err
				},
				func(tx ports.Tx, i int) error { // and used
					l, err := tx.Lists().ByName(t.Context(), o.org.ID, o.shop.ID, "Fleeting")
					if err != nil {
						return err
					}
					if _, err := tx.Lists().Add(t.Context(), l, []channels.AssignmentID{o.adaByMail.ID}); err != nil {
						return err
					}
					_, err = tx.Subscriptions().Create(t.Context(), subscriptions.Notification{Application: o.web.ID, Event: o.order.ID, Name: fmt.Sprint("n", i), List: l.ID})
					return err
				},
				func(tx ports.Tx, _ int) error { // and deleted
					l, err := tx.Lists().ByName(t.Context(), o.org.ID, o.shop.ID, "Fleeting")
					if err != nil {
						return err
					}
					return tx.Lists().Delete(t.Context(), l)
				},
				func(tx ports.Tx, _ int) error { // and let go
					for n := range 24 {
						found, err := tx.Subscriptions().ByName(t.Context(), o.order, fmt.Sprint("n", n))
						if errors.Is(err, subscriptions.ErrNotificationNotFound) {
							continue
						}
						if err != nil {
							return err
						}
						found.List = 0
						if err := tx.Subscriptions().Save(t.Context(), found); err != nil {
							return err
						}
					}
					return nil
				},
			}
			for _, err := range together(24, func(i int) error {
				return w.Update(t.Context(), func(tx ports.Tx) error { return steps[i%len(steps)](tx, i) })
			}) {
				if err != nil {
					assert.Contains(t, []fault.Kind{fault.Invalid, fault.NotFound}, fault.KindOf(err), "%v", err)
				}
			}
		},
		"AssignAndDeleteChannel": func(t *testing.T, w *world) {
			o := w.mine
			for _, err := range together(16, func(i int) error {
				return w.Update(t.Context(), func(tx ports.Tx) error {
					c, err := tx.Channels().Find(t.Context(), o.org.ID, o.shop.ID, "Fleeting")
					switch {
					case errors.Is(err, channels.ErrNotFound):
						_, err = tx.Channels().Create(t.Context(), channels.Channel{Organization: o.org.ID, Project: o.shop.ID, Name: "Fleeting", Protocol: channels.EMAIL, Driver: "smtp"})
						return err
					case err != nil || i%2 == 0:
						if err == nil {
							err = tx.Channels().Delete(t.Context(), c)
						}
						return err
					}
					_, _, err = tx.Assignments().Ensure(t.Context(), o.org.ID, []channels.Assignment{channels.Assign(o.adaMail, c), channels.Assign(o.bobMail, c)})
					return err
				})
			}) {
				if err != nil {
					assert.Contains(t, []fault.Kind{fault.Invalid, fault.NotFound}, fault.KindOf(err), "%v", err)
				}
			}
		},
		"OneOfManyBecomesPreferred": func(t *testing.T, w *world) {
			const n = 3
			all := newMeeting(n)
			for i := range n {
				w.open(t, channels.Channel{Name: strconv.Itoa(i), Protocol: channels.WEBHOOK, Active: true})
			}
			oneOf(t, channels.ErrPreferredTaken, together(n, func(i int) error {
				return w.Update(t.Context(), func(tx ports.Tx) error {
					c, err := tx.Channels().Find(t.Context(), w.mine.org.ID, 0, strconv.Itoa(i))
					if err != nil {
						return err
					}
					all.attend()
					c.Preferred = true
					return tx.Channels().Save(t.Context(), c)
				})
			}))
		},
		"OneOfManyListsTakesTheName": func(t *testing.T, w *world) {
			const n = 3
			all := newMeeting(n)
			for i := range n {
				w.list(t, strconv.Itoa(i), 0)
			}
			oneOf(t, lists.ErrNameTaken, together(n, func(i int) error {
				return w.Update(t.Context(), func(tx ports.Tx) error {
					l, err := tx.Lists().ByName(t.Context(), w.mine.org.ID, w.mine.shop.ID, strconv.Itoa(i))
					if err != nil {
						return err
					}
					all.attend()
					l.Name = "Prize"
					return tx.Lists().Save(t.Context(), l)
				})
			}))
		},
	}
}

// oneOf checks that one of many succeeded and that the others were refused with this fault.
func oneOf(t *testing.T, want error, results []error) {
	t.Helper()
	won := 0
	for _, err := range results {
		if err == nil {
			won++
			continue
		}
		assert.ErrorIs(t, err, want)
	}
	assert.Equal(t, 1, won)
}

// meeting makes units of work overlap if the store allows it: each waits until all have arrived, or
// gives up after some time. If the store runs one after the other, the first ones give up.
type meeting struct {
	missing atomic.Int64
	begun   chan struct{}
}

func newMeeting(n int) *meeting {
	m := &meeting{begun: make(chan struct{})}
	m.missing.Store(int64(n))
	return m
}

func (m *meeting) attend() {
	if m.missing.Add(-1) == 0 {
		close(m.begun)
	}
	select {
	case <-m.begun:
	case <-time.After(patience / 10):
	}
}
