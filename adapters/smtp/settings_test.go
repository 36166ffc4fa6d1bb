package smtp_test

import (
	"encoding/json"
	"maps"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/smtp"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/test/fakenet"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	_, authority := certificate(t)
	driver := smtp.New(fakenet.Redirecting(), smtp.Timeouts{})
	for name, changes := range map[string]channels.Settings{
		"TheLeast":        {},
		"Everything":      {"username": "u", "password": "p", "from_name": "Acme", "reply_to": "Help <help@example.org>", "tls": "tls", "tls_ca": authority, "helo": "a.example.org", "concurrency": 8, "rate_per_second": 2.5, "quota_per_day": 500, "quota_per_month": 10_000},
		"AnIPv6Host":      {"host": "2001:db8::1"},
		"APortAsJSON":     {"port": json.Number("587")},
		"APortAsYAML":     {"port": 587},
		"AFromWithAName":  {"from": "Acme <notify@acme.example>"},
		"AFromOfAnIDN":    {"from": "notify@bücher.example"},
		"EmptyIsNotThere": {"username": "", "password": "", "reply_to": "", "tls": ""},
	} {
		t.Run("Accepts/"+name, func(t *testing.T) {
			t.Parallel()
			c := channelTo("mail.example.org", "25", nil)
			c.Settings["from"] = "notify@example.org"
			maps.Copy(c.Settings, changes)
			require.NoError(t, driver.Check(c))
			d, err := driver.Open(c)
			require.NoError(t, err)
			require.NoError(t, d.Close())
		})
	}
	for name, c := range map[string]struct {
		changes channels.Settings
		want    string
	}{
		"AHostWithAPort":         {channels.Settings{"host": "mail.example.org:25"}, "settings.host: must be a host name or an IP address, without a port"},
		"AURL":                   {channels.Settings{"host": "smtp://mail.example.org"}, "settings.host: must be a host name or an IP address, without a port"},
		"FromIsNotAnAddress":     {channels.Settings{"from": "acme"}, "settings.from: must be an e-mail address, with or without a name: ada@example.org or Ada <ada@example.org>"},
		"AFromBeyondASCII":       {channels.Settings{"from": "jörg@example.org"}, "settings.from: must be an e-mail address, with or without a name: ada@example.org or Ada <ada@example.org>"},
		"AFromOfTwoLines":        {channels.Settings{"from": "a@example.org\r\nBcc: b@example.org"}, "settings.from: contains a control character"},
		"TwoNames":               {channels.Settings{"from_name": "Acme"}, "settings.from_name: is a second name: from has one already"},
		"OnlyAPassword":          {channels.Settings{"password": "p"}, "settings.username: is required with a password"},
		"OnlyAUsername":          {channels.Settings{"username": "u"}, "settings.password: is required with a username"},
		"AnUnknownEncryption":    {channels.Settings{"tls": "ssl"}, "settings.tls: must be one of starttls, tls, none"},
		"NoCertificate":          {channels.Settings{"tls_ca": "none"}, "settings.tls_ca: must be certificates in PEM"},
		"AnUnknownSetting":       {channels.Settings{"insecure_skip_verify": true}, "settings.insecure_skip_verify: is not a setting of the driver smtp"},
		"AHeloWithMoreThanAName": {channels.Settings{"helo": "a b"}, "settings.helo: must be a host name"},
	} {
		t.Run("Refuses/"+name, func(t *testing.T) {
			t.Parallel()
			channel := channelTo("mail.example.org", "25", c.changes)
			require.EqualError(t, driver.Check(channel), c.want)
			_, err := driver.Open(channel)
			require.EqualError(t, err, c.want)
		})
	}
	t.Run("NamesEveryMistakeAtOnce", func(t *testing.T) {
		t.Parallel()
		err := driver.Check(channels.Channel{Driver: "smtp", Protocol: channels.SMS, Settings: channels.Settings{"concurrency": 0, "pasword": "secret"}})
		var e *fault.Error
		require.ErrorAs(t, err, &e)
		assert.Equal(t, fault.Fields{
			{Name: "driver", Messages: []string{"smtp carries EMAIL, not SMS"}},
			{Name: "settings.concurrency", Messages: []string{"must be a whole number from 1 to 256"}},
			{Name: "settings.from", Messages: []string{"is required"}},
			{Name: "settings.host", Messages: []string{"is required"}},
			{Name: "settings.pasword", Messages: []string{"is not a setting of the driver smtp"}},
			{Name: "settings.port", Messages: []string{"is required"}},
		}, e.Fields())
	})
	t.Run("ThePasswordIsSecret", func(t *testing.T) {
		t.Parallel()
		assert.Equal(t, "smtp", driver.Name())
		assert.Equal(t, []string{"password"}, channels.Secrets(driver.Settings()))
	})
}
