package deliveries

import (
	"encoding/base64"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// Mask hides secrets in the answers of providers: some repeat the request that they refuse. It
// never hides ordinary words: a password that is an ordinary word is not revealed by a sentence
// that contains it.
type Mask struct {
	anywhere *strings.Replacer
	secrets  []string // hidden anywhere, the longest first
	words    []string // hidden as whole words
	sign     string
	// folded matches what is hidden anywhere, in any case; nil: case counts.
	folded *regexp.Regexp
}

// Lengths, in characters, that decide how a secret is searched.
const (
	minSecret   = 4 // shorter ones occur in every other word
	minEmbedded = 8 // a secret of only letters or only digits may be part of a word unless it is this long
)

// plainWord matches a word or a number.
var plainWord = regexp.MustCompile(`^(\p{L}+|\p{N}+)$`)

// NewMask returns a mask that replaces secrets, and their usual encodings, by a sign.
func NewMask(sign string, secrets ...string) Mask {
	m := Mask{sign: sign}
	var anywhere []string
	for _, s := range secrets {
		length := utf8.RuneCountInString(s)
		if length < minSecret {
			continue
		}
		switch {
		case commonWords[strings.ToLower(s)]:
		case length < minEmbedded && plainWord.MatchString(s):
			m.words = append(m.words, s)
		default:
			anywhere = append(anywhere, s)
		}
		for _, encoded := range []string{url.QueryEscape(s), url.PathEscape(s), base64.StdEncoding.EncodeToString([]byte(s))} {
			if encoded != s {
				anywhere = append(anywhere, encoded)
			}
		}
	}
	slices.SortFunc(anywhere, func(a, b string) int { return len(b) - len(a) }) // One may begin with another.
	pairs := make([]string, 0, 2*len(anywhere))
	for _, s := range anywhere {
		pairs = append(pairs, s, sign)
	}
	m.anywhere, m.secrets = strings.NewReplacer(pairs...), anywhere
	return m
}

// NewAddressMask returns a mask that hides an address of a recipient as a provider may write it:
// in any case, an e-mail address with its domain in ASCII or Unicode (IDNA), and a phone number
// without the plus sign.
func NewAddressMask(sign, address string) Mask {
	m := NewMask(sign, spellings(address)...)
	if len(m.secrets) == 0 {
		return m
	}
	forms := make([]string, len(m.secrets))
	for i, s := range m.secrets {
		forms[i] = regexp.QuoteMeta(s)
	}
	if pattern, err := regexp.Compile("(?i)" + strings.Join(forms, "|")); err == nil { // Invalid UTF-8 is no pattern.
		m.folded = pattern
	}
	return m
}

// spellings returns an address, and the other ways to write it apart from the case.
func spellings(address string) []string {
	all := []string{address}
	if digits, found := strings.CutPrefix(address, "+"); found {
		return append(all, digits)
	}
	at := strings.LastIndexByte(address, '@')
	if at < 1 {
		return all
	}
	for _, spell := range []func(string) (string, error){idna.Lookup.ToASCII, idna.Lookup.ToUnicode} {
		domain, err := spell(address[at+1:])
		if other := address[:at+1] + domain; err == nil && !strings.EqualFold(other, address) {
			all = append(all, other)
		}
	}
	return all
}

// cutSign ends a text that was shortened.
const cutSign = "…"

// hideCut hides the beginnings of secrets at which a text was shortened.
func (m Mask) hideCut(text string) string {
	parts := strings.Split(text, cutSign)
	for i, part := range parts[:len(parts)-1] {
		longest := 0
		for _, s := range m.secrets {
			for n := min(len(s), len(part)); n >= minSecret && n > longest; n-- {
				if m.equal(part[len(part)-n:], s[:n]) {
					longest = n
				}
			}
		}
		if longest > 0 {
			parts[i] = part[:len(part)-longest] + m.sign
		}
	}
	return strings.Join(parts, cutSign)
}

// equal compares a text with a secret.
func (m Mask) equal(text, secret string) bool {
	return text == secret || m.folded != nil && strings.EqualFold(text, secret)
}

// token matches a run of letters and digits.
var token = regexp.MustCompile(`[\p{L}\p{N}]+`)

// Hide returns the text without the secrets.
func (m Mask) Hide(text string) string {
	if m.anywhere == nil {
		return text
	}
	text = m.hideCut(text) // What is cut may begin with a shorter secret.
	if m.folded != nil {
		text = m.folded.ReplaceAllLiteralString(text, m.sign)
	} else {
		text = m.anywhere.Replace(text)
	}
	if len(m.words) == 0 {
		return text
	}
	return token.ReplaceAllStringFunc(text, func(word string) string {
		if slices.ContainsFunc(m.words, func(s string) bool { return m.equal(word, s) }) {
			return m.sign
		}
		return word
	})
}

// commonWords are the usual words in answers of providers.
var commonWords = func() map[string]bool {
	words := map[string]bool{}
	for w := range strings.FieldsSeq(`
		about above accept accepted access account action active address again alert alerts alias allowed already another answer anonymous api
		application array auth authentication authenticate authorization authorized available bad basic bearer because been before begin
		being blocked body bounce busy cannot channel character check class client close closed code command config configured connection
		contact content could credential credentials current data database default delay delivered delivery denied destination device disabled
		does domain done down email empty enabled error every exceeded exist exists expected expired failed failure false field file first
		followed forbidden format found from full gateway general give given goes good group have header hello help here high hook hooks host hour
		html http https image immediately inactive incoming incorrect internal invalid into join json just key keys know known last
		later length less limit list line local locked login long mail mailbox maximum member message messages method minutes missing more
		most must name need network never news next nobody none normal notification notify null number only open operation order other
		over page part party password path payload permanent permission permitted phone place plain please policy port post problem project
		protocol provided public push query queue quota rate read ready reason receive recipient redirect refused reject rejected
		relay relaying remote removed reply request required reset response retry room root route rule said same scope seconds secure
		send sender sending sent server service session shoutrrr show shut since size some soon space spaces spam start state status still stop
		stream string such suspended system target team temporarily temporary test text than that their them then there they this
		thread time timeout title token topic transaction true type unable unauthorized unavailable under unexpected unknown until update user
		username users valid value version wait want warning webhook webhooks well were what when where which while will with without word
		would write wrong your`) {
		words[w] = true
	}
	return words
}()
