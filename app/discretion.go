package app

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
)

// shortestSecret is how many characters a secret has at least to be looked for in failures: shorter ones are found in every other word.
const shortestSecret = 4

// discreet is a dispatcher whose failures do not repeat the secrets of its channel. What a provider says is shown to whoever may look at
// deliveries, and providers have been seen to quote the request that they did not like.
type discreet struct {
	deliveries.Dispatcher

	hide *strings.Replacer
}

// newDiscreet hides these settings of a channel in what d says.
func newDiscreet(d deliveries.Dispatcher, s channels.Settings, secret []string) discreet {
	var texts []string
	for _, name := range secret {
		texts = append(texts, textsOf(s[name])...)
	}
	slices.SortFunc(texts, func(a, b string) int { return len(b) - len(a) }) // One may begin with another.
	var pairs []string
	for _, t := range texts {
		pairs = append(pairs, t, "***")
	}
	return discreet{Dispatcher: d, hide: strings.NewReplacer(pairs...)}
}

// Dispatch hands the message over. A driver that panics has failed.
func (d discreet) Dispatch(ctx context.Context, m deliveries.Message) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the driver panicked: %v", p)
		}
		err = d.quiet(err)
	}()
	return d.Dispatcher.Dispatch(ctx, m)
}

// quiet hides what must not be seen of an error.
func (d discreet) quiet(err error) error {
	if err == nil {
		return nil
	}
	failure := deliveries.FailureOf(err)
	said := failure.Error()
	hidden := d.hide.Replace(said)
	if hidden == said {
		return err
	}
	quieter := *failure
	quieter.Err = errors.New(hidden)
	return &quieter
}

// textsOf returns the texts in a setting, their words, and the forms in which they travel.
func textsOf(setting any) []string {
	var texts []string
	switch v := setting.(type) {
	case string:
		for _, t := range append(strings.Fields(v), v) {
			texts = append(texts, t, url.QueryEscape(t), url.PathEscape(t), base64.StdEncoding.EncodeToString([]byte(t)))
		}
	case map[string]any:
		for _, inner := range v {
			texts = append(texts, textsOf(inner)...)
		}
	case []any:
		for _, inner := range v {
			texts = append(texts, textsOf(inner)...)
		}
	}
	return slices.DeleteFunc(texts, func(t string) bool { return utf8.RuneCountInString(t) < shortestSecret })
}
