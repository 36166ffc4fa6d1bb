package conformance

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// fullMessage returns a message with a value in every field.
func fullMessage(id, to string) deliveries.Message {
	return deliveries.Message{ID: id, To: to, Subject: "Subject of " + id, Text: "Text\nof " + id, HTML: "<p>HTML of " + id, Unsubscribe: "https://example.org/" + id,
		Facts: map[string]string{"organization": "acme", "event": "order"}}
}

// keep stores a message of a channel of the case's organization and reports whether it was new.
func (w *world) keep(t *testing.T, c channels.Channel, m deliveries.Message) bool {
	t.Helper()
	return w.keepBytes(t, c, m) > 0
}

// keepBytes stores a message of a channel and returns how many bytes it takes.
func (w *world) keepBytes(t *testing.T, c channels.Channel, m deliveries.Message) int {
	t.Helper()
	return do(t, w, func(tx ports.Tx) (int, error) { return tx.Mailbox().Keep(t.Context(), c.Organization, c.ID, m) })
}

// mailbox lists the messages of an organization.
func (w *world) mailbox(t *testing.T, org orgs.ID, f deliveries.MailboxFilter) []deliveries.MailboxMessage {
	t.Helper()
	if f.Limit == 0 {
		f.Limit = 1_000
	}
	return look(t, w, func(tx ports.Tx) ([]deliveries.MailboxMessage, error) { return tx.Mailbox().List(t.Context(), org, f) })
}

// messageIDs returns the ids of the messages in a listing.
func messageIDs(kept []deliveries.MailboxMessage) []string {
	ids := make([]string, len(kept))
	for i, k := range kept {
		ids[i] = k.Message.ID
	}
	return ids
}

// fill stores messages 1 to n in a channel.
func (w *world) fill(t *testing.T, c channels.Channel, n int) {
	t.Helper()
	for i := range n {
		require.True(t, w.keep(t, c, fullMessage(fmt.Sprint(i+1), "ada@example.org")))
	}
}

func mailboxCases() cases {
	return cases{
		"ChannelsAreThoseWithMessages": func(t *testing.T, w *world) {
			list := func(limit int) (names []string) {
				for _, c := range look(t, w, func(tx ports.Tx) ([]channels.Channel, error) {
					return tx.Mailbox().Channels(t.Context(), w.mine.org.ID, limit)
				}) {
					assert.Nil(t, c.Settings)
					names = append(names, c.Name)
				}
				return names
			}
			assert.Empty(t, list(10))
			w.fill(t, w.mine.shopMail, 2)
			w.fill(t, w.mine.mail, 1)
			assert.Equal(t, []string{"Mail", "Shop mail"}, list(10))
			assert.Equal(t, []string{"Mail"}, list(1))
		},
		"IsListedFromTheNewestAndFoundWhole": func(t *testing.T, w *world) {
			a, b := fullMessage("a", "ada@example.org"), fullMessage("b", "+14155552671")
			b.Facts = nil
			assert.True(t, w.keep(t, w.mine.mail, a))
			assert.True(t, w.keep(t, w.mine.text, b))
			listed := w.mailbox(t, w.mine.org.ID, deliveries.MailboxFilter{})
			require.Equal(t, []string{"b", "a"}, messageIDs(listed))
			for i, want := range []deliveries.Message{b, a} {
				k := listed[i]
				found := look(t, w, func(tx ports.Tx) (deliveries.MailboxMessage, error) {
					return tx.Mailbox().Find(t.Context(), w.mine.org.ID, k.ID)
				})
				assert.Equal(t, want, found.Message)
				assert.False(t, found.Created.IsZero())
				found.Message.Text, found.Message.HTML = "", ""
				assert.Equal(t, found, k, "a listing has everything but the texts")
			}
			assert.Equal(t, "Mail", listed[1].Channel)
			assert.Equal(t, channels.EMAIL, listed[1].Protocol)
		},
		"KeepsTheFirstOfARepeatedMessage": func(t *testing.T, w *world) {
			again := fullMessage("a", "ada@example.org")
			assert.True(t, w.keep(t, w.mine.mail, again))
			again.Subject = "changed"
			assert.False(t, w.keep(t, w.mine.mail, again))
			assert.True(t, w.keep(t, w.mine.shopMail, again), "another channel has a mailbox of its own")
			listed := w.mailbox(t, w.mine.org.ID, deliveries.MailboxFilter{Channel: w.mine.mail.ID})
			require.Len(t, listed, 1)
			assert.Equal(t, "Subject of a", listed[0].Message.Subject)
		},
		"KeepsOneOfManyAtOnce": func(t *testing.T, w *world) {
			created := together(16, func(i int) bool {
				var bytes int
				assert.NoError(t, w.Update(t.Context(), func(tx ports.Tx) (err error) {
					bytes, err = tx.Mailbox().Keep(t.Context(), w.mine.org.ID, w.mine.mail.ID, fullMessage(fmt.Sprint(i%2), "ada@example.org"))
					if err == nil {
						_, err = tx.Mailbox().Trim(t.Context(), w.mine.org.ID, w.mine.mail.ID, 2, 10)
					}
					return err
				}))
				return bytes > 0
			})
			n := 0
			for _, c := range created {
				if c {
					n++
				}
			}
			assert.Equal(t, 2, n)
			assert.Len(t, w.mailbox(t, w.mine.org.ID, deliveries.MailboxFilter{}), 2)
		},
		"KeepsEveryText": func(t *testing.T, w *world) {
			for i, s := range append(hostile(), "a\x00b", "\x1b[2J\a\r\n\t", strings.Repeat("ö", 1<<17)) {
				m := deliveries.Message{ID: fmt.Sprint(i), To: "ada@example.org", Subject: s, Text: s, HTML: s, Unsubscribe: s, Facts: map[string]string{s: s}}
				require.True(t, w.keep(t, w.mine.mail, m))
				newest := w.mailbox(t, w.mine.org.ID, deliveries.MailboxFilter{Limit: 1})[0]
				found := look(t, w, func(tx ports.Tx) (deliveries.MailboxMessage, error) {
					return tx.Mailbox().Find(t.Context(), w.mine.org.ID, newest.ID)
				})
				require.Equal(t, m, found.Message)
			}
			w.keep(t, w.mine.mail, deliveries.Message{ID: "x", To: "ada@example.org", Subject: "a\xffb"})
			assert.Equal(t, "a\ufffdb", w.mailbox(t, w.mine.org.ID, deliveries.MailboxFilter{Limit: 1})[0].Message.Subject)
		},
		"IsNarrowedByChannelAddressAndPlace": func(t *testing.T, w *world) {
			w.keep(t, w.mine.mail, fullMessage("1", "ada@example.org"))
			w.keep(t, w.mine.mail, fullMessage("2", "Ada@Example.ORG"))
			w.keep(t, w.mine.shopMail, fullMessage("3", "ada@example.org"))
			w.keep(t, w.mine.mail, fullMessage("4", "bob@example.org"))
			list := func(f deliveries.MailboxFilter) []string { return messageIDs(w.mailbox(t, w.mine.org.ID, f)) }
			ada := users.NewEmailAddress("ADA@example.org").Key()
			assert.Equal(t, []string{"4", "3", "2", "1"}, list(deliveries.MailboxFilter{}))
			assert.Equal(t, []string{"3", "2", "1"}, list(deliveries.MailboxFilter{AddressKey: ada}))
			assert.Equal(t, []string{"4", "2", "1"}, list(deliveries.MailboxFilter{Channel: w.mine.mail.ID}))
			assert.Equal(t, []string{"2", "1"}, list(deliveries.MailboxFilter{Channel: w.mine.mail.ID, AddressKey: ada}))
			assert.Equal(t, []string{"4", "3"}, list(deliveries.MailboxFilter{Limit: 2}))
			third := w.mailbox(t, w.mine.org.ID, deliveries.MailboxFilter{Limit: 2})[1].ID
			assert.Equal(t, []string{"2", "1"}, list(deliveries.MailboxFilter{Before: third}))
			assert.Equal(t, []string{"2"}, list(deliveries.MailboxFilter{Before: third, Limit: 1}))
			assert.Empty(t, list(deliveries.MailboxFilter{AddressKey: "carl@example.org"}))
		},
		"IsTrimmedToTheNewestOfAChannelInSteps": func(t *testing.T, w *world) {
			w.fill(t, w.mine.mail, 7)
			w.fill(t, w.mine.shopMail, 3)
			trim := func(newest, limit int) int {
				return do(t, w, func(tx ports.Tx) (int, error) {
					return tx.Mailbox().Trim(t.Context(), w.mine.org.ID, w.mine.mail.ID, newest, limit)
				})
			}
			list := func() []string {
				return messageIDs(w.mailbox(t, w.mine.org.ID, deliveries.MailboxFilter{Channel: w.mine.mail.ID}))
			}
			assert.Zero(t, trim(7, 100))
			assert.Equal(t, 3, trim(2, 3))
			assert.Equal(t, []string{"7", "6", "5", "4"}, list(), "the oldest go first")
			assert.Equal(t, 2, trim(2, 3))
			assert.Equal(t, []string{"7", "6"}, list())
			assert.Zero(t, trim(2, 3))
			assert.Len(t, w.mailbox(t, w.mine.org.ID, deliveries.MailboxFilter{}), 5)
		},
		"CountsTheBytesOfAMessage": func(t *testing.T, w *world) {
			m := deliveries.Message{ID: "1", To: "ada@example.org"}
			small := w.keepBytes(t, w.mine.mail, m)
			assert.True(t, deliveries.MailboxOverhead < small && small < deliveries.MailboxOverhead+500, "%d bytes", small)
			assert.Zero(t, w.keepBytes(t, w.mine.mail, m), "a repeated message takes none")
			for i, add := range []func(m *deliveries.Message){
				func(m *deliveries.Message) { m.Subject = strings.Repeat("ö", 500) },
				func(m *deliveries.Message) { m.Text = strings.Repeat("ö", 500) },
				func(m *deliveries.Message) { m.HTML = strings.Repeat("ö", 500) },
				func(m *deliveries.Message) { m.Unsubscribe = strings.Repeat("ö", 500) },
				func(m *deliveries.Message) { m.Facts = map[string]string{"a": strings.Repeat("ö", 500)} },
			} {
				m := deliveries.Message{ID: fmt.Sprint(i + 2), To: "ada@example.org"}
				add(&m)
				assert.InDelta(t, small+1_000, w.keepBytes(t, w.mine.mail, m), 20)
			}
		},
		"IsShrunkToTheNewestBytesOfAnOrganizationInSteps": func(t *testing.T, w *world) {
			w.fill(t, w.theirs.mail, 3)
			w.settle(t)
			var sizes []int
			for i, c := range []channels.Channel{w.mine.mail, w.mine.shopMail, w.mine.mail, w.mine.text, w.mine.mail, w.mine.shopMail, w.mine.mail} {
				m := fullMessage(fmt.Sprint(i+1), "ada@example.org")
				m.Text = strings.Repeat("a", 3_000*(i%3))
				sizes = append(sizes, w.keepBytes(t, c, m))
			}
			newest := func(n int) (bytes int) {
				for _, size := range sizes[len(sizes)-n:] {
					bytes += size
				}
				return bytes
			}
			shrink := func(bytes, limit int) int {
				return do(t, w, func(tx ports.Tx) (int, error) { return tx.Mailbox().Shrink(t.Context(), w.mine.org.ID, bytes, limit) })
			}
			list := func() []string { return messageIDs(w.mailbox(t, w.mine.org.ID, deliveries.MailboxFilter{})) }
			assert.Zero(t, shrink(newest(7), 10))
			assert.Zero(t, shrink(1<<30, 10))
			assert.Equal(t, 1, shrink(newest(7)-1, 10))
			assert.Equal(t, []string{"7", "6", "5", "4", "3", "2"}, list(), "the oldest goes when one byte is too many")
			assert.Equal(t, 2, shrink(newest(3), 2))
			assert.Equal(t, []string{"7", "6", "5", "4"}, list(), "the oldest go first")
			assert.Equal(t, 1, shrink(newest(3), 2))
			assert.Zero(t, shrink(newest(3), 2))
			assert.Equal(t, []string{"7", "6", "5"}, list())
			assert.Equal(t, 2, shrink(1, 10))
			assert.Equal(t, []string{"7"}, list(), "the newest stays, however large it is")
			assert.Len(t, w.mailbox(t, w.theirs.org.ID, deliveries.MailboxFilter{}), 3)
		},
		"IsShrunkWhileOthersKeepAndTrim": func(t *testing.T, w *world) {
			together(16, func(i int) bool {
				c := []channels.Channel{w.mine.mail, w.mine.shopMail, w.mine.text}[i%3]
				return assert.NoError(t, w.Update(t.Context(), func(tx ports.Tx) error {
					_, err := tx.Mailbox().Keep(t.Context(), w.mine.org.ID, c.ID, fullMessage(fmt.Sprint(i), "ada@example.org"))
					if err == nil {
						_, err = tx.Mailbox().Trim(t.Context(), w.mine.org.ID, c.ID, 2, 10)
					}
					if err == nil {
						_, err = tx.Mailbox().Shrink(t.Context(), w.mine.org.ID, 5<<10, 10)
					}
					return err
				}))
			})
			do(t, w, func(tx ports.Tx) (int, error) { return tx.Mailbox().Shrink(t.Context(), w.mine.org.ID, 5<<10, 100) })
			kept := len(w.mailbox(t, w.mine.org.ID, deliveries.MailboxFilter{}))
			assert.True(t, 3 <= kept && kept <= 4, "%d are kept", kept)
		},
		"IsClearedInSteps": func(t *testing.T, w *world) {
			w.fill(t, w.mine.mail, 3)
			w.fill(t, w.mine.shopMail, 2)
			wipe := func(c channels.ID, limit int) int {
				return do(t, w, func(tx ports.Tx) (int, error) { return tx.Mailbox().Clear(t.Context(), w.mine.org.ID, c, limit) })
			}
			assert.Equal(t, 2, wipe(w.mine.mail.ID, 2))
			assert.Equal(t, 1, wipe(w.mine.mail.ID, 2))
			assert.Zero(t, wipe(w.mine.mail.ID, 2))
			assert.Equal(t, 2, wipe(0, 10))
			assert.Empty(t, w.mailbox(t, w.mine.org.ID, deliveries.MailboxFilter{}))
		},
		"IsDeletedWithItsChannel": func(t *testing.T, w *world) {
			c := w.open(t, channels.Channel{Name: "Box", Protocol: channels.EMAIL})
			w.fill(t, c, 2)
			w.fill(t, w.mine.mail, 1)
			act(t, w, func(tx ports.Tx) error { return tx.Channels().Delete(t.Context(), c) })
			assert.Len(t, w.mailbox(t, w.mine.org.ID, deliveries.MailboxFilter{}), 1)
			refused(t, w, channels.ErrNotFound, func(tx ports.Tx) error {
				_, err := tx.Mailbox().Keep(t.Context(), w.mine.org.ID, c.ID, fullMessage("3", "ada@example.org"))
				return err
			})
		},
		"ForeignOneIsOutOfReach": func(t *testing.T, w *world) {
			w.fill(t, w.theirs.mail, 3)
			theirs := w.mailbox(t, w.theirs.org.ID, deliveries.MailboxFilter{})
			w.settle(t)
			assert.Empty(t, w.mailbox(t, w.mine.org.ID, deliveries.MailboxFilter{}))
			assert.Empty(t, w.mailbox(t, w.mine.org.ID, deliveries.MailboxFilter{Channel: w.theirs.mail.ID}))
			missing(t, w, deliveries.ErrMessageNotFound, func(tx ports.Tx) (deliveries.MailboxMessage, error) {
				return tx.Mailbox().Find(t.Context(), w.mine.org.ID, theirs[0].ID)
			})
			refused(t, w, channels.ErrNotFound, func(tx ports.Tx) error {
				_, err := tx.Mailbox().Keep(t.Context(), w.mine.org.ID, w.theirs.mail.ID, fullMessage("4", "ada@example.org"))
				return err
			})
			act(t, w, func(tx ports.Tx) error {
				trimmed, err := tx.Mailbox().Trim(t.Context(), w.mine.org.ID, w.theirs.mail.ID, 1, 10)
				assert.Zero(t, trimmed)
				if err != nil {
					return err
				}
				shrunk, err := tx.Mailbox().Shrink(t.Context(), w.mine.org.ID, 1, 10)
				assert.Zero(t, shrunk)
				if err != nil {
					return err
				}
				for _, c := range []channels.ID{w.theirs.mail.ID, 0} {
					gone, err := tx.Mailbox().Clear(t.Context(), w.mine.org.ID, c, 10)
					assert.Zero(t, gone)
					if err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
}
