package events_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/templates"
)

func complaints(t *testing.T, err error) map[string][]string {
	t.Helper()
	var e *fault.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, fault.Invalid, e.Kind())
	found := map[string][]string{}
	for _, f := range e.Fields() {
		found[f.Name] = f.Messages
	}
	return found
}

func TestNew(t *testing.T) {
	t.Parallel()
	t.Run("ANewEventIsActiveAndHasNoChannels", func(t *testing.T) {
		t.Parallel()
		e, err := events.New("order-shipped", " Order shipped ", "When a parcel\nleaves the house.")
		require.NoError(t, err)
		assert.Equal(t, events.Event{Slug: "order-shipped", Name: "Order shipped", Description: "When a parcel\nleaves the house.", Active: true}, e)
	})
	t.Run("TheDescriptionIsLimitedInCharacters", func(t *testing.T) {
		t.Parallel()
		_, err := events.New("a", "A", strings.Repeat("𝔸", events.MaxDescription))
		require.NoError(t, err)
	})
	t.Run("NamesEveryMistakeAtOnce", func(t *testing.T) {
		t.Parallel()
		_, err := events.New("Order Shipped", "", strings.Repeat("a", events.MaxDescription+1))
		assert.Equal(t, map[string][]string{"slug": {"must consist of lower-case letters, digits, - and _"}, "name": {"is required"},
			"description": {"is too long"}}, complaints(t, err))
	})
}

func TestNewTemplate(t *testing.T) {
	t.Parallel()
	t.Run("AsWritten", func(t *testing.T) {
		t.Parallel()
		tpl, err := events.NewTemplate(7, templates.Source{Subject: " Hello ", Text: "\tDear {{ user.first_name }},\n", HTML: "<p>Dear</p>"})
		require.NoError(t, err)
		assert.Equal(t, events.Template{Channel: 7, Subject: " Hello ", Text: "\tDear {{ user.first_name }},\n", HTML: "<p>Dear</p>"}, tpl)
	})
	t.Run("LimitsInCharacters", func(t *testing.T) {
		t.Parallel()
		body := strings.Repeat("é", events.MaxBody)
		_, err := events.NewTemplate(7, templates.Source{Subject: strings.Repeat("é", events.MaxSubject), Text: body, HTML: body})
		require.NoError(t, err)
		_, err = events.NewTemplate(7, templates.Source{Subject: strings.Repeat("é", events.MaxSubject+1), Text: body + "é", HTML: body + "é"})
		assert.Equal(t, map[string][]string{"subject": {"is too long"}, "text": {"is too long"}, "html": {"is too long"}}, complaints(t, err))
	})
	t.Run("Markdown", func(t *testing.T) {
		t.Parallel()
		body := strings.Repeat("x", templates.MaxMarkdown)
		tpl, err := events.NewTemplate(7, templates.Source{Markdown: body})
		require.NoError(t, err)
		assert.Equal(t, events.Template{Channel: 7, Markdown: body}, tpl)
		tooLarge := map[string][]string{"markdown": {"is longer than 32 KiB"}}
		_, err = events.NewTemplate(7, templates.Source{Markdown: body + "x"})
		assert.Equal(t, tooLarge, complaints(t, err))
		_, err = events.NewTemplate(7, templates.Source{Markdown: strings.Repeat("字", 11_000)})
		assert.Equal(t, tooLarge, complaints(t, err), "33,000 bytes")
		_, err = events.NewTemplate(7, templates.Source{HTML: "<p>", Markdown: "{{#a}}"})
		assert.Equal(t, map[string][]string{"markdown": {`line 1: section "a" is never closed`, "the body is either HTML or Markdown"}}, complaints(t, err))
		for p, accepted := range map[channels.Protocol]bool{channels.EMAIL: true, channels.WEBHOOK: true, channels.SMS: false, channels.SLACK: false, channels.PLAINTEXT: false} {
			assert.Equal(t, accepted, events.Event{}.CheckTemplate(tpl, p, nil) == nil, p)
			assert.NoError(t, events.Event{}.CheckTemplate(events.Template{HTML: "<p>"}, p, nil))
		}
		assert.Equal(t, map[string][]string{"markdown": {"is for channels whose messages have HTML; those of SMS have none"}},
			complaints(t, events.Event{}.CheckTemplate(tpl, channels.SMS, nil)))
		assert.Contains(t, complaints(t, events.Event{Schema: `{"properties": {"order": {}}, "additionalProperties": false}`}.CheckTemplate(
			events.Template{Markdown: "{{contxt.order}}"}, channels.EMAIL, nil)), "markdown")
	})
	t.Run("AnEmptyOneIsRefused", func(t *testing.T) {
		t.Parallel()
		for _, empty := range []templates.Source{{}, {Subject: " ", Text: "\n", Markdown: "\t"}} {
			_, err := events.NewTemplate(7, empty)
			assert.Equal(t, map[string][]string{"text": {"a template needs a subject, a text, HTML or Markdown"}}, complaints(t, err))
		}
		_, err := events.NewTemplate(7, templates.Source{Subject: "Hello"})
		require.NoError(t, err)
	})
	t.Run("NULAndInvalidUTF8AreRefused", func(t *testing.T) {
		t.Parallel()
		_, err := events.NewTemplate(7, templates.Source{Subject: "a\x00b", Text: "a\xffb", HTML: "a\x00"})
		assert.Equal(t, map[string][]string{"subject": {"contains a NUL character"}, "text": {"is not valid UTF-8"},
			"html": {"contains a NUL character"}}, complaints(t, err))
	})
}
