package words

// English returns the language of the keys.
func English() *Language { return english }

// Sentences returns the keys of all sentences in the source of a template, in order.
func Sentences(source string) []string {
	sentences, _ := keys(source)
	return sentences
}

// Phrases returns the keys that the source of a template passes to t.
func Phrases(source string) []string {
	_, phrases := keys(source)
	return phrases
}

func keys(source string) (sentences, phrases []string) {
	r := rewriter{
		lookup: func(k string) (Entry, bool) {
			sentences = append(sentences, k)
			return Entry{}, false
		},
		onPhrase: func(k string) { phrases = append(phrases, k) },
	}
	r.nodes(parse(source))
	return sentences, phrases
}
