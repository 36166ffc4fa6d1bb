package conformance

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// addresses returns the addresses of a member.
func (w *world) addresses(t *testing.T, m users.Member) []users.Address {
	t.Helper()
	return look(t, w, func(tx ports.Tx) ([]users.Address, error) {
		return tx.Addresses().List(t.Context(), m.Organization, m.ID, 0, 1_000)
	})
}

// hold adds addresses to a member. It returns them as stored, and which of them are new.
func (w *world) hold(t *testing.T, m users.Member, as ...users.Address) ([]users.Address, []bool) {
	t.Helper()
	var fresh []bool
	stored := do(t, w, func(tx ports.Tx) (stored []users.Address, err error) {
		stored, fresh, err = ensureAddresses(t.Context(), tx, m.Organization, m.ID, as)
		return stored, err
	})
	require.Len(t, stored, len(as))
	require.Len(t, fresh, len(as))
	return stored, fresh
}

// addressOf returns the address of a value.
func addressOf(t *testing.T, value, name string) users.Address {
	t.Helper()
	a, err := users.NewAddress(value, name)
	require.NoError(t, err)
	return a
}

func addressCases() cases {
	return cases{
		"AreKeptAsGivenInTheOrderGiven": func(t *testing.T, w *world) {
			sent := []users.Address{addressOf(t, "https://example.org/hook", "Hook"), addressOf(t, "Eve@Example.org", ""), addressOf(t, "#general", "Slack"),
				addressOf(t, "+1 (415) 555-2672", "")}
			stored, fresh := w.hold(t, w.mine.bob, sent...)
			for i, a := range stored {
				assert.Positive(t, a.ID)
				want := sent[i]
				want.ID, want.Member = a.ID, w.mine.bob.ID
				assert.Equal(t, want, a)
				assert.True(t, fresh[i])
			}
			assert.ElementsMatch(t, append(stored, w.mine.bobMail), w.addresses(t, w.mine.bob))
		},
		"ThoseHeldAlreadyStayAsTheyAre": func(t *testing.T, w *world) {
			first, _ := w.hold(t, w.mine.bob, addressOf(t, "É.ve@Example.org", "Work"), addressOf(t, "#general", "Slack"))
			stored, fresh := w.hold(t, w.mine.bob, addressOf(t, "#General", "New"), addressOf(t, "e\u0301.VE@example.ORG", "Other"), addressOf(t, "BOB@example.org", "Third"),
				addressOf(t, "#general", "Other"))
			assert.Equal(t, []bool{true, false, false, false}, fresh)
			assert.Equal(t, []users.Address{first[0], w.mine.bobMail, first[1]}, stored[1:])
			assert.Equal(t, "#General", stored[0].Value)
			assert.Len(t, w.addresses(t, w.mine.bob), 4)
		},
		"SeveralMembersAreStoredAtOnce": func(t *testing.T, w *world) {
			sent := []users.Address{addressOf(t, "#general", "Bob"), addressOf(t, "ADA@example.org", ""), addressOf(t, "#general", "Ada")}
			for i, m := range []users.Member{w.mine.bob, w.mine.ada, w.mine.ada} {
				sent[i].Member = m.ID
			}
			act(t, w, func(tx ports.Tx) error {
				stored, fresh, err := tx.Addresses().Ensure(t.Context(), w.mine.org.ID, sent)
				assert.NoError(t, err)
				assert.Equal(t, []bool{true, false, true}, fresh)
				assert.Equal(t, w.mine.adaMail, stored[1])
				for _, i := range []int{0, 2} {
					want := sent[i]
					want.ID = stored[i].ID
					assert.Equal(t, want, stored[i])
				}
				return err
			})
			sent[2].Member = w.theirs.bob.ID
			require.ErrorIs(t, w.Update(t.Context(), func(tx ports.Tx) error {
				_, _, err := tx.Addresses().Ensure(t.Context(), w.mine.org.ID, sent)
				return err
			}), users.ErrNotFound)
		},
		"NoneIsFine": func(t *testing.T, w *world) {
			stored, _ := w.hold(t, w.mine.bob)
			assert.Empty(t, stored)
		},
		"LongValuesAreComparedToTheLastCharacter": func(t *testing.T, w *world) {
			long := distinctRunes(users.MaxAddress - 1)
			stored, fresh := w.hold(t, w.mine.bob, addressOf(t, long+"𝔸", ""), addressOf(t, long+"𝔹", ""), addressOf(t, "https://example.org/"+strings.Repeat("a", 2_028), ""))
			assert.Equal(t, []bool{true, true, true}, fresh)
			again, fresh := w.hold(t, w.mine.bob, addressOf(t, long+"𝔹", ""), addressOf(t, long+"𝔸", ""))
			assert.Equal(t, []bool{false, false}, fresh)
			assert.Equal(t, []users.Address{stored[1], stored[0]}, again)
			assert.Equal(t, long+"𝔹", again[0].Value)
		},
		"AreUniquePerMemberOnly": func(t *testing.T, w *world) {
			a := addressOf(t, "https://example.org/shared", "Same")
			_, fresh := w.hold(t, w.mine.ada, a)
			assert.Equal(t, []bool{true}, fresh)
			_, fresh = w.hold(t, w.mine.bob, a)
			assert.Equal(t, []bool{true}, fresh)
			w.hold(t, w.theirs.bob, a)
			w.settle(t)
		},
		"NamesAreLabelsAndMayRepeat": func(t *testing.T, w *world) {
			_, fresh := w.hold(t, w.mine.bob, addressOf(t, "#a", "Work"), addressOf(t, "#b", "Work"))
			assert.Equal(t, []bool{true, true}, fresh)
		},
		"AreNotGivenToAMemberOfAnotherOrganization": func(t *testing.T, w *world) {
			attempt(t, w, func(tx ports.Tx) error {
				_, _, err := ensureAddresses(t.Context(), tx, w.mine.org.ID, w.theirs.ada.ID, []users.Address{addressOf(t, "#stolen", "")})
				return err
			})
		},
		"AreListedByID": func(t *testing.T, w *world) {
			want := w.addresses(t, w.mine.bob)
			for _, value := range []string{"#z", "#a", "#m"} {
				stored, _ := w.hold(t, w.mine.bob, addressOf(t, value, ""))
				want = append(want, stored...)
			}
			paged(t, w, func(a users.Address) users.AddressID { return a.ID }, want, func(tx ports.Tx, after users.AddressID, limit int) ([]users.Address, error) {
				return tx.Addresses().List(t.Context(), w.mine.org.ID, w.mine.bob.ID, after, limit)
			})
		},
		"NotVisibleToAnotherOrganization": func(t *testing.T, w *world) {
			found := look(t, w, func(tx ports.Tx) ([]users.Address, error) {
				return tx.Addresses().List(t.Context(), w.mine.org.ID, w.theirs.ada.ID, 0, 10)
			})
			assert.Empty(t, found)
		},
		"HoldersAreAllThatRecordedAnEmail": func(t *testing.T, w *world) {
			second, _ := w.hold(t, w.mine.bob, users.NewEmailAddress("ADA@Example.org"))
			w.hold(t, w.mine.bob, addressOf(t, "#general", ""))
			holders := func(keys ...string) []users.Address {
				return look(t, w, func(tx ports.Tx) ([]users.Address, error) {
					return tx.Addresses().Holders(t.Context(), w.mine.org.ID, keys, 10)
				})
			}
			assert.Equal(t, []users.Address{w.mine.adaMail, w.mine.bobMail, second[0]},
				holders(w.mine.bobMail.Key(), "nobody@example.org", users.NewEmailAddress("aDa@example.org").Key()), "ordered by id")
			first := look(t, w, func(tx ports.Tx) ([]users.Address, error) {
				return tx.Addresses().Holders(t.Context(), w.mine.org.ID, []string{w.mine.adaMail.Key(), w.mine.bobMail.Key()}, 2)
			})
			assert.Equal(t, []users.Address{w.mine.adaMail, w.mine.bobMail}, first, "at most the limit")
			assert.Empty(t, holders("nobody@example.org"))
			assert.Empty(t, holders())
			assert.Empty(t, holders("#general", w.mine.adaPhone.Key()), "only e-mails")
		},
		"KnownAreThoseOfTheMember": func(t *testing.T, w *world) {
			known := func(as ...users.Address) []users.Address {
				return look(t, w, func(tx ports.Tx) ([]users.Address, error) {
					return tx.Addresses().Known(t.Context(), w.mine.org.ID, as)
				})
			}
			ofBob, other := w.mine.adaMail, users.NewEmailAddress("other@example.org")
			ofBob.Member, other.Member = w.mine.bob.ID, w.mine.ada.ID
			assert.Equal(t, []users.Address{w.mine.adaMail, w.mine.bobMail}, known(w.mine.bobMail, ofBob, other, w.theirs.adaMail, w.mine.adaMail))
			assert.Empty(t, known())
		},
		"HoldersTakeManyKeys": func(t *testing.T, w *world) {
			keys := make([]string, 0, 10_000)
			for i := range cap(keys) - 1 {
				keys = append(keys, fmt.Sprintf("nobody-%d@example.org", i))
			}
			keys = append(keys, w.mine.adaMail.Key())
			found := look(t, w, func(tx ports.Tx) ([]users.Address, error) {
				return tx.Addresses().Holders(t.Context(), w.mine.org.ID, keys, 10)
			})
			assert.Equal(t, []users.Address{w.mine.adaMail}, found)
		},
		"HoldersOfAnExpandingEmail": func(t *testing.T, w *world) {
			// U+1D160 has twelve bytes in NFC, so the key is longer than any value.
			e := users.NewEmailAddress(strings.Repeat("\U0001d160", 16) + "@" + strings.Repeat("\U0001d160", 229) + ".example")
			stored, _ := w.hold(t, w.mine.bob, e)
			found := look(t, w, func(tx ports.Tx) ([]users.Address, error) {
				return tx.Addresses().Holders(t.Context(), w.mine.org.ID, []string{e.Key()}, 10)
			})
			assert.Equal(t, stored, found)
		},
	}
}
