package wiring_test

import (
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/mailbox"
	"github.com/tocsin/tocsin/adapters/outbound"
	"github.com/tocsin/tocsin/adapters/shoutrrr"
	"github.com/tocsin/tocsin/adapters/smtp"
	"github.com/tocsin/tocsin/adapters/twilio"
	"github.com/tocsin/tocsin/adapters/webhook"
	"github.com/tocsin/tocsin/app/batch"
	"github.com/tocsin/tocsin/app/delivery"
	"github.com/tocsin/tocsin/configs"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/wiring"
)

func everyDriver() delivery.Drivers {
	guard := outbound.New(outbound.Allowed{}, nil)
	return delivery.Drivers{mailbox.New(nil), smtp.New(guard, smtp.Timeouts{}), webhook.New(guard), twilio.New(guard), shoutrrr.New(guard)}
}

// TestWorkersOfNewMembers checks that one batch of new members is written at a time on SQLite, and
// two on Postgres.
func TestWorkersOfNewMembers(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]batch.Workers{"sqlite:data/tocsin.db": batch.Single, "sqlite::memory:": batch.Single, "postgres://db.internal/tocsin": batch.Pair} {
		database, err := configs.ParseDatabase(url)
		require.NoError(t, err)
		assert.Equal(t, want, wiring.NewWorkers(configs.Config{Database: database}), url)
	}
}

// TestDriversDescribeTheirSettings compares a driver's description of its settings with their use
// and with the documentation. A driver that reads an undescribed setting panics
// (channels.SettingsReader).
func TestDriversDescribeTheirSettings(t *testing.T) {
	t.Parallel()
	for _, d := range everyDriver() {
		t.Run(d.Name(), func(t *testing.T) {
			t.Parallel()
			described := append(channels.CommonSettings(), d.Settings()...)
			wrong := channels.Settings{"colour": "red"}
			for _, s := range described {
				wrong[s.Name] = []any{"of no use whatever is wanted"}
			}
			var e *fault.Error
			for _, p := range d.Protocols() {
				require.ErrorAs(t, d.Check(channels.Channel{Driver: d.Name(), Protocol: p, Settings: wrong}), &e)
				complaints := map[string]string{}
				for _, f := range e.Fields() {
					complaints[strings.TrimPrefix(f.Name, "settings.")] = strings.Join(f.Messages, ", ")
				}
				assert.Contains(t, complaints["colour"], "is not a setting of the driver")
				assert.NotContains(t, complaints, "driver")
				for _, s := range described {
					assert.Contains(t, complaints[s.Name], "must be", "%s reads %s", d.Name(), s.Name)
				}
			}
			var demanded, required []string
			if errors.As(d.Check(channels.Channel{Driver: d.Name(), Protocol: d.Protocols()[0]}), &e) {
				for _, f := range e.Fields() {
					if slices.Equal(f.Messages, []string{"is required"}) {
						demanded = append(demanded, strings.TrimPrefix(f.Name, "settings."))
					}
				}
			}
			for _, s := range described {
				if s.Required {
					required = append(required, s.Name)
				}
			}
			assert.ElementsMatch(t, required, demanded)
		})
	}
}

// settingsRow is a row of a table of settings in the documents: names, default and meaning.
var settingsRow = regexp.MustCompile("(?m)^\\| (`[^|]*`) \\| ([^|]*) \\| (.*) \\|$")

func TestDocsDescribeTheSettingsOfDrivers(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/channels.md")
	require.NoError(t, err)
	section := func(title string) string {
		_, rest, found := strings.Cut(string(text), "\n## "+title+"\n")
		require.True(t, found, title)
		rest, _, _ = strings.Cut(rest, "\n## ")
		_, rest, found = strings.Cut(rest, "| Setting | Default | Meaning |")
		require.True(t, found, title)
		rest, _, _ = strings.Cut(rest, "\n\n")
		return rest
	}
	hold := func(title string, described []channels.Setting) {
		var documented []string
		for _, row := range settingsRow.FindAllStringSubmatch(section(title), -1) {
			for name := range strings.SplitSeq(strings.ReplaceAll(row[1], "`", ""), ", ") {
				documented = append(documented, name)
				i := slices.IndexFunc(described, func(s channels.Setting) bool { return s.Name == name })
				if assert.GreaterOrEqual(t, i, 0, "%s of %s is no setting", name, title) {
					s := described[i]
					assert.Equal(t, s.Required, row[2] == "required", "%s of %s", name, title)
					assert.Equal(t, s.Secret, strings.Contains(row[3], "**Secret") && (strings.HasSuffix(row[3], "`"+name+"`.") || !strings.Contains(row[3], "**Secret**: ")), "%s of %s", name, title)
					for _, word := range s.Words {
						assert.Contains(t, row[3], "`"+word+"`", "%s of %s", name, title)
					}
				}
			}
		}
		for _, s := range described {
			assert.Contains(t, documented, s.Name, title)
			assert.Regexp(t, `\.$`, s.Help, s.Name)
		}
	}
	hold("Settings of every driver", channels.CommonSettings())
	for _, d := range everyDriver() {
		hold(d.Name(), d.Settings())
	}
}
