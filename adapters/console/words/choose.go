package words

import "golang.org/x/text/language"

// Offered are the languages that users can choose, English first. Their catalogues are complete.
var Offered = []language.Tag{language.English, language.German}

// Names are the names of the languages in Offered, each in the language itself.
var Names = []string{"English", "Deutsch"}

var matcher = language.NewMatcher(Offered)

// Choose returns the index in Offered of the user's choice, else of a language that the browser
// accepts, else of English.
func Choose(accepted, chosen string) int {
	tags, _, err := language.ParseAcceptLanguage(accepted) // An invalid header is ignored.
	if err != nil {
		tags = nil
	}
	if tag, err := language.Parse(chosen); err == nil {
		tags = append([]language.Tag{tag}, tags...)
	}
	_, at, confidence := matcher.Match(tags...)
	if confidence == language.No {
		return 0
	}
	return at
}
