package words

import "golang.org/x/text/language"

// Offered are the languages that people can choose, English first: one is offered when its
// catalogue has every word.
var Offered = []language.Tag{language.English, language.German}

// Names are what those offered call themselves.
var Names = []string{"English", "Deutsch"}

// Choose returns the place among those offered of the language that suits best: what somebody chose
// before what the browser accepts, else English.
func Choose(accepted, chosen string) int {
	matcher := language.NewMatcher(Offered)
	tags, _, err := language.ParseAcceptLanguage(accepted) // Fails for what nobody's browser sends: then nothing is accepted.
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
