package words

import "golang.org/x/text/language"

// Offered are the languages that people can choose, English first: one is offered when its
// catalogue has every word.
var Offered = []language.Tag{language.English, language.German}

// Names are the names of the languages in Offered, each in its own language.
var Names = []string{"English", "Deutsch"}

// Choose returns the index in Offered of the best language: the user's choice, else one that the
// browser accepts, else English.
func Choose(accepted, chosen string) int {
	matcher := language.NewMatcher(Offered)
	tags, _, err := language.ParseAcceptLanguage(accepted) // No browser sends a header that fails.
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
