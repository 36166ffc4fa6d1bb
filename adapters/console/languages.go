package console

import (
	"fmt"
	"sync"

	"github.com/tocsin/tocsin/adapters/console/words"
)

// language is a language of the console: its words, and the pages in it.
type language struct {
	*words.Language

	views views
}

// offeredLanguages load the languages of words.Offered, each when it is first needed: most
// installations need one, and the pages of one take some megabytes. They are part of the program,
// so all consoles of a process share them.
var offeredLanguages = func() (all []func() (language, error)) {
	for _, tag := range words.Offered {
		all = append(all, sync.OnceValues(func() (language, error) {
			l, err := words.Load(tag)
			if err != nil {
				return language{}, err
			}
			v, err := loadViews(l)
			return language{l, v}, err
		}))
	}
	return all
}()

// language returns the language of the page.
func (c call) language() language {
	l, err := offeredLanguages[words.Choose(c.Request().Header.Get("Accept-Language"), c.chosenLanguage())]()
	if err != nil {
		panic(err) // Every language is part of the program, and a test loads each.
	}
	return l
}

// chosenLanguage returns the language of the operator's account, before signing in the one chosen
// last in this browser; empty: its Accept-Language decides.
func (c call) chosenLanguage() string {
	if c.operator.User.ID != 0 {
		return c.operator.Language
	}
	return c.sent(languageCookie)
}

// said returns words, or a name, in the page's language.
func (c call) said(v any) string { return fmt.Sprint(c.language().Translate(v)) }

// languageCookie holds the language chosen last in the browser, for the pages before signing in.
const languageCookie = "tocsin_language"
