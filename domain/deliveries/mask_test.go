package deliveries_test

import (
	"encoding/base64"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tocsin/tocsin/domain/deliveries"
)

func TestMask(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		secrets    []string
		text, want string
	}{
		"AToken":                   {[]string{"tok-3n4x"}, "no such key tok-3n4x", "no such key ***"},
		"InAURL":                   {[]string{"123:Ab_cdefg"}, "/bot123:Ab_cdefg/send", "/bot***/send"},
		"EscapedInAURL":            {[]string{"a b/c+d"}, "q=a+b%2Fc%2Bd", "q=***"},
		"InBase64":                 {[]string{"0penSesame"}, "got MHBlblNlc2FtZQ==", "got ***"},
		"WordIsAPassword":          {[]string{"mailbox"}, "550 no such mailbox", "550 no such mailbox"},
		"TheSameInCapitals":        {[]string{"User"}, "Unknown user, User unknown", "Unknown user, User unknown"},
		"WordIsAnEncodedPassword":  {[]string{"mailbox"}, "AUTH bWFpbGJveA==", "AUTH ***"},
		"APartOfAWord":             {[]string{"sala"}, "this salad is not sala", "this salad is not ***"},
		"APartOfANumber":           {[]string{"1234"}, "queued as 99123477, not 1234", "queued as 99123477, not ***"},
		"AShortOne":                {[]string{"abc"}, "abc", "abc"},
		"AWordOfTheScheme":         {[]string{"Bearer", "x9y8z7w6"}, "Bearer x9y8z7w6 expired", "Bearer *** expired"},
		"LongWordsAnywhere":        {[]string{"correcthorse"}, "xcorrecthorsex", "x***x"},
		"OneThatBeginsWithAnother": {[]string{"tok-1", "tok-1-2"}, "tok-1-2 tok-1", "*** ***"},
		"CutInTheMiddle":           {[]string{"tok-3n4x-5y6z", "tok-3"}, "invalid token tok-3n4x-5…: see the log", "invalid token ***…: see the log"},
		"CutInBase64":              {[]string{"0penSesame"}, "got MHBlblNl…", "got ***…"},
		"CutElsewhere":             {[]string{"tok-3n4x"}, "a long story to…", "a long story to…"},
		"Nothing":                  {nil, "all of it", "all of it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, c.want, deliveries.NewMask("***", c.secrets...).Hide(c.text))
		})
	}
	assert.Equal(t, "text", deliveries.Mask{}.Hide("text"), "the zero value hides nothing")
	t.Run("NoEncodingOfASecretIsLeft", rapid.MakeCheck(func(t *rapid.T) {
		secret := rapid.StringMatching(`[a-zA-Z0-9+/ _-]{3,20}[0-9][a-z][_+]`).Draw(t, "secret")
		for _, form := range []string{secret, url.QueryEscape(secret), url.PathEscape(secret), base64.StdEncoding.EncodeToString([]byte(secret))} {
			require.NotContains(t, deliveries.NewMask("***", secret).Hide("before "+form+" after"), form)
		}
	}))
}

func TestAddressMask(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ address, text, want string }{
		"AsItIs":                 {"anna@example.org", "550 <anna@example.org> unknown", "550 <***> unknown"},
		"InAnyCase":              {"Anna@Example.org", "no anna@example.org, ANNA@EXAMPLE.ORG", "no ***, ***"},
		"ItsDomainInASCII":       {"anna@Bücher.example", "550 <anna@xn--bcher-kva.example>", "550 <***>"},
		"ItsDomainInCapitals":    {"anna@Bücher.example", "550 <anna@BÜCHER.example>", "550 <***>"},
		"ItsDomainInUnicode":     {"anna@xn--bcher-kva.example", "550 <anna@bücher.example>", "550 <***>"},
		"WithAnotherFullStop":    {"anna@bücher。example", "<anna@xn--bcher-kva.example> <Anna@bücher.example>", "<***> <***>"},
		"InASCIIAndEscaped":      {"anna@bücher.example", "to=anna%40xn--bcher-kva.example", "to=***"},
		"NoDomainOfIDNA":         {"anna@bü_cher.example", "550 <Anna@bü_cher.example>", "550 <***>"},
		"APhoneNumber":           {"+491701234567", "+491701234567, not 491701234567 or %2B491701234567", "***, not *** or ***"},
		"AShortPhoneNumber":      {"+4912345", "4912345 in 99491234577", "*** in 99491234577"},
		"ALink":                  {"https://ada.example.org/Lovelace", "POST https://ADA.example.org/Lovelace", "POST ***"},
		"AWord":                  {"lovely", "no such user Lovely", "no such user ***"},
		"AWordOfProviders":       {"Mailbox", "550 no such mailbox", "550 no such mailbox"},
		"AVeryShortOne":          {"ada", "550 no such mailbox: Ada", "550 no such mailbox: Ada"},
		"OfAChat":                {"@anna-bot", "chat @Anna-Bot not found", "chat *** not found"},
		"CutInTheMiddle":         {"Anna@Example.org", "550 no anna@exam…", "550 no ***…"},
		"CutInASCII":             {"anna@bücher.example", "550 no anna@xn--bch…", "550 no ***…"},
		"WithInvalidUTF8":        {"anna\xff@example.org", "no anna\xff@example.org", "no ***"},
		"InAnAnswerThatIsNoUTF8": {"Anna@example.org", "\xff anna@example.org \xff", "\xff *** \xff"},
		"OnlyADomain":            {"example.org", "no MX of EXAMPLE.org", "no MX of ***"},
		"None":                   {"", "all of it", "all of it"},
		"InAnEmptyAnswer":        {"ada", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, c.want, deliveries.NewAddressMask("***", c.address).Hide(c.text))
		})
	}
}
