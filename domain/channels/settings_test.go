package channels_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/domain/channels"
)

func TestSettingsDoNotPrint(t *testing.T) {
	t.Parallel()
	s := channels.Settings{"password": "hunter2", "headers": map[string]any{"Authorization": "hunter2"}}
	c := channels.Channel{Name: "mail", Settings: s}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X"} {
		for _, v := range []any{s, &s, c, &c, []channels.Channel{c}} {
			printed := fmt.Sprintf(verb, v)
			assert.NotContains(t, printed, "hunter2", verb)
			assert.NotContains(t, printed, fmt.Sprintf("%x", "hunter2"), verb)
			assert.NotContains(t, printed, fmt.Sprintf("%X", "hunter2"), verb)
		}
	}
	assert.Equal(t, "{headers, password}", s.String())
	assert.Equal(t, "{}", channels.Settings(nil).String())
}
