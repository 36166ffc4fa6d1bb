package delivery_test

import (
	"context"
	"encoding/base64"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app/delivery"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
)

// secretive is a fake driver with secrets.
type secretive struct{ fakeDriver }

func (secretive) Settings() []channels.Setting {
	return []channels.Setting{{Name: "token", Secret: true}, {Name: "headers", Secret: true}, {Name: "list", Secret: true}, {Name: "absent", Secret: true}, {Name: "open"}}
}

func TestFailuresDoNotRepeatSecrets(t *testing.T) {
	t.Parallel()
	settings := channels.Settings{"host": "mail.example.org", "token": "s3cr3t/+ä", "list": []any{"listed1", 7},
		"headers": map[string]any{"A": "Basic dXNlcg==", "B": map[string]any{"C": "nested1"}, "D": "s3cr3t/+äß", "E": "abc"}}
	for said, shown := range map[string]string{
		"the token s3cr3t/+ä is wrong":                                   "the token *** is wrong",
		"s3cr3t/+äß begins with it":                                      "*** begins with it",
		"Get \"https://x/?t=s3cr3t%2F%2B%C3%A4\": EOF":                   "Get \"https://x/?t=***\": EOF",
		"/s3cr3t%2F+%C3%A4/":                                             "/***/",
		"AUTH " + base64.StdEncoding.EncodeToString([]byte("s3cr3t/+ä")): "AUTH ***",
		"dXNlcg== nested1 listed1 listed1":                               "*** *** *** ***",
		"mail.example.org: abc is too short to be guarded":               "mail.example.org: abc is too short to be guarded",
	} {
		for _, panics := range []bool{false, true} {
			d := secretive{fakeDriver{dispatch: func(context.Context, deliveries.Message) error {
				if panics {
					panic(said)
				}
				return deliveries.Refused("%w", errors.New(said))
			}}}
			failure := deliveries.FailureOf(dispatchedBy(t, d, settings))
			if panics {
				assert.Equal(t, "the driver panicked ("+shown+")", failure.Detailed())
				require.EqualError(t, failure, "the driver panicked", "what it was about may be private")
				assert.True(t, failure.Channel)
				assert.True(t, failure.MaybeAccepted, "the provider may have answered before")
				continue
			}
			assert.Equal(t, shown, failure.Error())
			assert.False(t, failure.Temporary)
		}
	}
	require.NoError(t, dispatchedBy(t, secretive{fakeDriver{dispatch: func(context.Context, deliveries.Message) error { return nil }}}, settings))
}

func dispatchedBy(t *testing.T, d deliveries.Driver, s channels.Settings) error {
	t.Helper()
	opened, err := delivery.Drivers{d}.Open(channels.Channel{Driver: "fake", Settings: s})
	require.NoError(t, err)
	return opened.Dispatch(t.Context(), deliveries.Message{})
}
