package delivery_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app/delivery"
	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/subscriptions"
	"github.com/tocsin/tocsin/domain/users"
)

var secret = deliveries.NewLinks([]byte("a secret of this installation"))

// inputOf returns the input of a message of occurrence 17 with a text and a context.
func inputOf(text, context string) deliveries.RenderInput {
	return deliveries.RenderInput{
		Occurrence: events.Occurrence{ID: 17, Context: events.Context(context), CorrelationID: "cid",
			Created: time.Date(2026, 1, 2, 4, 4, 5, 999, time.FixedZone("", 3600))},
		Organization: orgs.Organization{Slug: "acme", Name: "Acme"}, Project: orgs.Project{Slug: "shop", Name: "Shop"},
		Application: applications.Application{Slug: "web", Name: "Web"}, Event: events.Event{Slug: "order", Name: "Order", Description: "<It> happens"},
		Notification: subscriptions.Notification{ID: 5, Name: "Buyer"}, Channel: channels.Channel{Name: "mail", Protocol: channels.EMAIL},
		Template: events.Template{Subject: "S", Text: text, HTML: text},
	}
}

func ada() deliveries.Job {
	return deliveries.Job{ID: 3, Occurrence: 17, Notification: 5, Address: "Ada@Example.org", Recipient: deliveries.Recipient{Member: 9, Username: "ada",
		Details: users.Details{Email: "ada@example.org", FirstName: "Ada", LastName: "L"}, Fields: []byte(`{"plan": "<pro>", "n": 1.50}`)}}
}

func TestComposer(t *testing.T) {
	t.Parallel()

	t.Run("ATemplateSpeaksOfThese", func(t *testing.T) {
		t.Parallel()
		for name, want := range map[string]string{
			"context.n": "12345678901234567890", "context.price": "1.50", "context.missing": "",
			"user.username": "ada", "user.email": "ada@example.org", "user.first_name": "Ada", "user.last_name": "L", "user.custom_fields.n": "1.50",
			"event.name": "Order", "event.slug": "order", "event.description": "<It> happens", "application.slug": "web", "application.name": "Web",
			"project.slug": "shop", "project.name": "Shop", "organization.slug": "acme", "organization.name": "Acme",
			"occurrence.id": "17", "occurrence.created": "2026-01-02T03:04:05Z", "occurrence.correlation_id": "cid",
			"address": "Ada@Example.org", "channel.name": "mail", "channel.protocol": "EMAIL",
		} {
			m, err := delivery.NewTemplateComposer("", secret).Compose(inputOf("["+"{{ "+name+" }}"+"]", `{"n": 12345678901234567890, "price": 1.50}`), ada())
			require.NoError(t, err, name)
			assert.Equal(t, "["+want+"]", m.Text, name)
			assert.NoError(t, events.Event{}.CheckTemplate(events.Template{Text: "{{ " + name + " }}"}, channels.SMS, nil), name)
		}
	})

	t.Run("OnlyHTMLIsEscaped", func(t *testing.T) {
		t.Parallel()
		m, err := delivery.NewTemplateComposer("", secret).Compose(inputOf("{{ user.custom_fields.plan }}", "{}"), ada())
		require.NoError(t, err)
		assert.Equal(t, "<pro>", m.Text)
		assert.Equal(t, "&lt;pro&gt;", m.HTML)
	})

	t.Run("ValuesAreNoMarkdown", func(t *testing.T) {
		t.Parallel()
		c := delivery.NewTemplateComposer("", secret)
		in := inputOf("", `{"note": "[x](https://evil.example) <b>"}`)
		in.Template.Text, in.Template.HTML, in.Template.Markdown = "", "", "# {{ context.note }}\n"
		for range 2 { // The second time it is parsed already.
			m, err := c.Compose(in, ada())
			require.NoError(t, err)
			assert.Equal(t, "<h1>[x](https://evil.example) &lt;b&gt;</h1>\n", m.HTML)
			assert.Equal(t, "[x](https://evil.example) <b>", m.Text)
		}
		in.Template.Markdown = "{{ context.note }}\n"
		m, err := c.Compose(in, ada())
		require.NoError(t, err)
		assert.Equal(t, "<p>[x](https://evil.example) &lt;b&gt;</p>\n", m.HTML, "another Markdown is another template")
	})

	t.Run("ShowsRecipientAndSubject", func(t *testing.T) {
		t.Parallel()
		m, err := delivery.NewTemplateComposer("", secret).Compose(inputOf("T", ""), ada())
		require.NoError(t, err)
		assert.Equal(t, deliveries.Message{ID: secret.MessageID(3), To: "Ada@Example.org", Subject: "S", Text: "T", HTML: "T", Facts: map[string]string{
			"organization": "acme", "project": "shop", "application": "web", "event": "order", "notification": "Buyer", "occurrence": "17", "correlation_id": "cid",
		}}, m)
	})

	t.Run("OnlyAnEmailHasAnUnsubscribeLinkAndOnlyWithABaseURL", func(t *testing.T) {
		t.Parallel()
		c := delivery.NewTemplateComposer("https://tocsin.example.org", secret)
		m, err := c.Compose(inputOf("T", ""), ada())
		require.NoError(t, err)
		token := strings.TrimSuffix(strings.TrimPrefix(m.Unsubscribe, "https://tocsin.example.org/unsubscribe/"), "/")
		about, err := secret.Parse(token)
		require.NoError(t, err, m.Unsubscribe)
		assert.Equal(t, deliveries.OptOut{Member: 9, Notification: 5, AddressKey: "ada@example.org"}, about)

		l := inputOf("T", "")
		l.Channel.Protocol = channels.SMS
		m, err = c.Compose(l, ada())
		require.NoError(t, err)
		assert.Empty(t, m.Unsubscribe)
	})

	t.Run("FaultsAreErrorsAndNotMessages", func(t *testing.T) {
		t.Parallel()
		c := delivery.NewTemplateComposer("", secret)
		_, err := c.Compose(inputOf("{{# open }}", "{}"), ada())
		require.ErrorContains(t, err, "open")
		j := ada()
		j.Recipient.Fields = []byte("[")
		_, err = c.Compose(inputOf("T", "{}"), j)
		require.ErrorContains(t, err, "stored data cannot be read")
		_, err = delivery.NewTemplateComposer("", secret).Compose(inputOf("T", "["), ada())
		require.ErrorContains(t, err, "stored data cannot be read")
	})

	t.Run("ForgetsNothingItNeedsAndSharesNothingThatDiffers", func(t *testing.T) {
		t.Parallel()
		c := delivery.NewTemplateComposer("", secret)
		for round := range 2 {
			for i := range 1_100 { // more than it caches
				l := inputOf(fmt.Sprintf("%d: {{ context.n }}", i), fmt.Sprintf(`{"n": %d}`, i))
				l.Occurrence.ID = events.OccurrenceID(i + 1)
				m, err := c.Compose(l, ada())
				require.NoError(t, err)
				require.Equal(t, fmt.Sprintf("%d: %d", i, i), m.Text, "round %d", round)
			}
		}
	})

	t.Run("UnstoredOccurrencesShareNothing", func(t *testing.T) {
		t.Parallel()
		c := delivery.NewTemplateComposer("", secret)
		for _, n := range []string{"1", "2"} {
			l := inputOf("{{ context.n }}", `{"n": `+n+`}`)
			l.Occurrence.ID = 0
			m, err := c.Compose(l, ada())
			require.NoError(t, err)
			assert.Equal(t, n, m.Text)
		}
	})

	t.Run("MayBeUsedByManyAtOnce", func(t *testing.T) {
		t.Parallel()
		c := delivery.NewTemplateComposer("", secret)
		var writers sync.WaitGroup
		for range 8 {
			writers.Go(func() {
				for i := range 200 {
					l := inputOf(fmt.Sprintf("%d {{ context.n.m }}", i%7), `{"n": {"m": 1}}`)
					l.Occurrence.ID = events.OccurrenceID(i%5 + 1)
					m, err := c.Compose(l, ada())
					assert.NoError(t, err)
					assert.Equal(t, fmt.Sprintf("%d 1", i%7), m.Text)
				}
			})
		}
		writers.Wait()
	})
}

// TestComposerBoundsItsCache runs alone, because it reads the heap of the whole program.
func TestComposerBoundsItsCache(t *testing.T) { //nolint:paralleltest // For the reason given.
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	for _, test := range []struct {
		name       string
		context    string
		contexts   int
		limitBytes uint64
	}{
		{"FewLargeContexts", `{"n": [` + strings.Repeat("0,", 500_000) + `0]}`, 7, 100 << 20}, // a megabyte, and twenty when decoded
		{"ManySmallContexts", `{"n": [0]}`, 20_000, 5 << 20},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := delivery.NewTemplateComposer("", secret)
			before := heap()
			for id := range test.contexts {
				in := inputOf("{{ context.n.0 }}", test.context)
				in.Occurrence.ID = events.OccurrenceID(id + 1)
				_, err := c.Compose(in, ada())
				require.NoError(t, err)
			}
			assert.Less(t, heap(), before+test.limitBytes)
			runtime.KeepAlive(c)
		})
	}
	t.Run("LargeTemplates", func(t *testing.T) {
		c := delivery.NewTemplateComposer("", secret)
		before := heap()
		for id := range 60 {
			in := inputOf(strings.Repeat("{{a}}", 20_000), "{}")
			in.Template.ID = events.TemplateID(id + 1)
			_, err := c.Compose(in, ada())
			require.NoError(t, err)
		}
		assert.Less(t, heap(), before+50<<20)
		runtime.KeepAlive(c)
	})
}
