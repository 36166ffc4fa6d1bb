package configs_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

type (
	world struct {
		Organizations []organization
	}
	organization struct {
		Slug, Name string
		Groups     []string
		Channels   []channel
		Projects   []project
	}
	project struct {
		Slug, Name   string
		Channels     []channel
		Lists        []list
		Applications []application
	}
	channel struct {
		Name, Protocol, Driver string
		Preferred, Active      bool
		Settings               struct{ Keep int }
	}
	list        struct{ Name, Application string }
	application struct {
		Slug, Name string
		Events     []event
	}
	event struct {
		Slug, Name, Description string
		Channels                []string
		Templates               []text
		Notifications           []notification
	}
	notification struct {
		Name, List string
		Active     *bool
		Templates  []text
	}
	text struct{ Channel, Subject, Text, HTML string }
)

// TestDemo checks that the demo has no member unknown to `apply`, refers to nothing that is
// missing, and sends nothing anywhere.
func TestDemo(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("demo.yaml")
	require.NoError(t, err)
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	var w world
	require.NoError(t, decoder.Decode(&w))

	require.Len(t, w.Organizations, 1)
	acme := w.Organizations[0]
	require.Equal(t, "acme", acme.Slug)
	var channels []string
	for _, c := range acme.Channels {
		channels = append(channels, c.Name)
		require.Equal(t, "mailbox", c.Driver)
	}
	require.Contains(t, channels, "mail")
	for _, p := range acme.Projects {
		require.Empty(t, p.Channels)
		apps, pinned := map[string]bool{}, map[string]string{}
		for _, a := range p.Applications {
			apps[a.Slug] = true
		}
		for _, l := range p.Lists {
			require.True(t, l.Application == "" || apps[l.Application], l.Name)
			pinned[l.Name] = l.Application
		}
		require.Equal(t, "web", pinned["web-users"])
		require.Contains(t, pinned, "customers")
		for _, a := range p.Applications {
			for _, e := range a.Events {
				require.Subset(t, channels, e.Channels)
				requireTemplates(t, channels, e.Templates)
				for _, n := range e.Notifications {
					requireTemplates(t, channels, n.Templates)
					if n.List != "" {
						require.Contains(t, pinned, n.List)
						require.Contains(t, []string{"", a.Slug}, pinned[n.List], "a pinned list serves its own application")
					}
				}
			}
		}
	}
}

func requireTemplates(t *testing.T, channels []string, all []text) {
	t.Helper()
	for _, x := range all {
		require.Contains(t, channels, x.Channel)
		require.NotEmpty(t, x.Text)
	}
}
