package jsonbody_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/httpapi/jsonbody"
)

// FuzzParse compares the parser with the standard library's. An accepted text has the same value
// there, and a refused text is not JSON or has a flaw that the standard library ignores.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"email":"anna@example.org","first_name":"Anna","custom_fields":{"external_id":1.50,"tags":["a",null,true]}}`,
		`{"username":"anna","addresses":[{"value":"+4915112345678","assign_to_preferred_channel":true}],"active":false}`,
		`["anna@example.org","\u00e4\ud83d\ude00","\ud800","\u0000"]`,
		"{\"a\":\"\xff\",\"a\":1}", `{"a":{"a":{}},"b":[[],[{}]]}`, `[1e400,-0,0.1E-7]`, `{} x`, `{"a":`, `"`, ``, nested(33), "\"\\n\xff\"",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := jsonbody.Parse(text)
		if err != nil {
			require.NotEmpty(t, errorList(t, err))
			for _, line := range errorList(t, err) {
				assert.True(t, utf8.ValidString(line))
			}
			return
		}
		require.True(t, utf8.Valid(text))
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.UseNumber()
		var want any
		require.NoError(t, decoder.Decode(&want))
		assert.Equal(t, want, got)
	})
}

// FuzzObject reads arbitrary bodies with every getter; none may panic, and each path in an error is
// valid text.
func FuzzObject(f *testing.F) {
	for _, seed := range []string{
		`{"s":"x","b":true,"i":1,"m":{},"l":[{"s":"y"}]}`, `{"s":1,"b":"","i":1e2,"m":[],"l":[1,{"l":[]}]}`, `{"l":null}`, `[]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		o, err := jsonbody.ParseObject(text)
		if err != nil {
			return
		}
		for _, o := range append(o.Objects("l"), o) {
			o.String("s")
			o.Bool("b", true)
			o.Integer("i")
			o.RequiredInteger("s")
			o.Map("m")
		}
		if err := o.Err(); err != nil {
			for _, line := range errorList(t, err) {
				assert.True(t, utf8.ValidString(line))
			}
		}
	})
}
