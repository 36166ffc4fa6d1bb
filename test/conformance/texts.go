package conformance

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// hostile returns texts with a meaning in SQL, in the text forms of arrays and rows, in JSON, or
// for escaping by hand.
func hostile() []string {
	return []string{
		"NULL", "null", "true", "0", "-1", "1e9", "\\N", "''", "'", "\"", "\\", "\\\\", "\\'", "$1", "$$", "?", "??", "@name", ":name", "%", "%s", "%[1]d", "_",
		"{}", "{NULL}", "{a,b}", "{\"a\":1}", "[1]", "(a,b)", ",", ";", "--", "/*", "'; DROP TABLE users; --", "a\u2028b\u2029c", "\ufeffa", "\u200b", "<b>&amp;</b>",
		"مرحبا", "👩‍👩‍👧", "e\u0301", "\U000e0001", "\ufffd", "a  b",
	}
}

func textCases() cases {
	return cases{
		"AreKeptInEveryColumnOfAnEnrollment": func(t *testing.T, w *world) {
			var es []users.Enrollment
			for i, s := range hostile() {
				es = append(es, users.Enrollment{Details: users.Details{Email: fmt.Sprintf("%d%s@example.org", i, s), FirstName: s, LastName: s + s},
					CustomFields: metadata.Map{s: s, "deep": map[string]any{s: []any{s}}}})
			}
			for range 2 {
				for i, a := range w.enroll(t, users.Batch{Enrollments: es, MergeFields: true}) {
					e := es[i]
					assert.Equal(t, users.User{ID: a.Member.User.ID, Username: e.Email}, a.Member.User)
					assert.Equal(t, e.Details, a.Member.Details)
					assert.Equal(t, e.CustomFields, a.Member.CustomFields)
					assert.Equal(t, []string{e.Email}, values(w.addresses(t, a.Member)))
				}
			}
		},
		"AreKeptInAnAddress": func(t *testing.T, w *world) {
			var sent []users.Address
			for _, s := range hostile() {
				sent = append(sent, users.Address{Value: s, Name: s, Type: users.Generic})
			}
			stored, fresh := w.hold(t, w.mine.bob, sent...)
			assert.NotContains(t, fresh, false)
			for i, a := range stored {
				assert.Equal(t, sent[i].Value, a.Value)
				assert.Equal(t, sent[i].Name, a.Name)
			}
			again, fresh := w.hold(t, w.mine.bob, sent...)
			assert.NotContains(t, fresh, true)
			assert.Equal(t, stored, again)
		},
		"AreKeptInAUsername": func(t *testing.T, w *world) {
			for _, s := range hostile() {
				m := w.ensure(t, w.mine, person{Username: "u" + s, Email: "e" + s, FirstName: s, LastName: s})
				assert.Equal(t, m, w.member(t, "u"+s))
				assert.Equal(t, []users.Member{m}, w.byEmail(t, w.mine, "e"+s))
			}
		},
		"AreKeptInNamesSettingsAndTemplates": func(t *testing.T, w *world) {
			o := w.mine
			for i, s := range hostile() {
				name := fmt.Sprint(s, " ", i)
				act(t, w, func(tx ports.Tx) error {
					l, err := tx.Lists().Create(t.Context(), lists.List{Organization: o.org.ID, Project: o.shop.ID, Name: name})
					if err != nil {
						return err
					}
					found, err := tx.Lists().ByName(t.Context(), o.org.ID, o.shop.ID, name)
					assert.Equal(t, l, found)
					return err
				})
				c := w.open(t, channels.Channel{Name: name, Protocol: channels.SLACK, Settings: channels.Settings{s: s, "list": []any{s}}})
				sameChannel(t, c, w.channel(t, 0, name))
				for _, text := range []events.Template{
					{Channel: c.ID, Version: 1, Subject: s, Text: s + "\r\n\t" + s, HTML: "\n" + s},
					{Channel: c.ID, Version: 2, Markdown: s + "\n"},
				} {
					act(t, w, func(tx ports.Tx) error {
						_, err := tx.Events().SaveTemplate(t.Context(), o.order, text, "eva")
						return err
					})
					templates := w.templates(t, o.order)
					last := templates[len(templates)-1]
					text.ID = last.ID
					assert.Equal(t, text, last)
				}
				w.issue(t, access.Key{Name: name})
			}
		},
	}
}
