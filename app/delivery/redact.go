package delivery

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
)

// redacting is a dispatcher whose failures do not repeat the secrets of its channel. Members who
// may see deliveries also see the provider's answers, and some providers quote the request that
// they refuse.
type redacting struct {
	deliveries.Dispatcher

	secrets deliveries.Mask
}

// newRedacting returns a dispatcher that redacts these settings in the failures of d.
func newRedacting(d deliveries.Dispatcher, s channels.Settings, secret []string) redacting {
	var texts []string
	for _, name := range secret {
		texts = append(texts, textsOf(s[name])...)
	}
	return redacting{Dispatcher: d, secrets: deliveries.NewMask("***", texts...)}
}

// Dispatch hands the message over. A panic of the driver is like an unknown error.
func (r redacting) Dispatch(ctx context.Context, m deliveries.Message) (err error) {
	defer func() {
		if p := recover(); p != nil {
			failure := deliveries.FailureOf(errors.New("the driver panicked"))
			failure.Detail = fmt.Errorf("%v", p)
			err = failure
		}
		err = r.redact(err)
	}()
	return r.Dispatcher.Dispatch(ctx, m)
}

// redact replaces the secrets in an error.
func (r redacting) redact(err error) error {
	if err == nil {
		return nil
	}
	redacted := *deliveries.FailureOf(err)
	redacted.Err = r.clean(redacted.Err)
	if redacted.Detail != nil {
		redacted.Detail = r.clean(redacted.Detail)
	}
	return &redacted
}

// clean returns the error without the secrets; the same error if it contains none.
func (r redacting) clean(err error) error {
	text := err.Error()
	if clean := r.secrets.Hide(text); clean != text {
		return errors.New(clean)
	}
	return err
}

// textsOf returns the texts in a setting, and their words.
func textsOf(setting any) []string {
	var texts []string
	switch v := setting.(type) {
	case string:
		texts = append(strings.Fields(v), v)
	case map[string]any:
		for _, inner := range v {
			texts = append(texts, textsOf(inner)...)
		}
	case []any:
		for _, inner := range v {
			texts = append(texts, textsOf(inner)...)
		}
	}
	return texts
}
