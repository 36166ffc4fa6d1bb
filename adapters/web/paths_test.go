package web_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/labstack/echo/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/web"
)

func TestIDs(t *testing.T) {
	t.Parallel()
	c := echo.New().NewContext(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody), httptest.NewRecorder())
	c.SetParamNames("org", "list", "member")
	c.SetParamValues("acme", "7", "x")

	require.PanicsWithValue(t, "web: {list} was not read as an id", func() { web.ID[int64](c, "list") })
	require.NoError(t, web.ReadIDs(c, "list", "group"))
	assert.EqualValues(t, 7, web.ID[int64](c, "list"))
	for _, name := range []string{"group", "member", "org"} {
		assert.PanicsWithValue(t, "web: {"+name+"} was not read as an id", func() { web.ID[int64](c, name) })
	}
	require.ErrorIs(t, web.ReadIDs(c, "list", "member"), web.ErrNoSuchPath)
}
