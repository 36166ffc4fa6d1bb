package console

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/domain/fault"
)

// failureView is what the page of an error shows.
type failureView struct{ Text any }

// fail answers an error with a page. Unclassified errors, and those that kept the service from
// answering, are logged once with the request id and never shown.
func (c *Console) fail(e echo.Context, err error) {
	status, title, text := c.describe(e, err)
	h := e.Response().Header()
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		h.Set(echo.HeaderRetryAfter, web.RetryAfter(err))
	}
	in, known := e.Get(callKey).(call)
	if !known {
		in = call{Context: e, console: c}
	}
	v := view{call: in, Title: title, Page: failureView{Text: text}}
	if status >= http.StatusInternalServerError { // Support staff will need it.
		v.RequestID = web.RequestID(e)
	}
	if err := in.write(status, "failure", v); err != nil {
		c.observer.LogUndelivered(e, err)
	}
}

// describe returns the status, title and text of the page for an error. It hides internal errors.
func (c *Console) describe(e echo.Context, err error) (status int, title words.Phrase, text any) {
	var routing *echo.HTTPError
	var tooLarge *http.MaxBytesError
	var known *fault.Error
	switch {
	case errors.As(err, &routing) && routing.Code == http.StatusMethodNotAllowed:
		return routing.Code, words.Of("That does not work here"), words.Of("This page does not accept such a request.")
	case errors.As(err, &routing) && routing.Code == http.StatusNotFound:
		return routing.Code, words.Of("Page not found"), words.Of("The address may be incomplete.")
	case errors.As(err, &tooLarge):
		return web.Status(fault.TooLarge), words.Of("That is too much"), words.Of("The form is too large for the console.")
	case fault.KindOf(err) != fault.Internal && errors.As(err, &known):
		if known.Kind() == fault.Unavailable {
			c.observer.LogUnavailable(e, c.outages, err)
		}
		return web.Status(known.Kind()), titleOf(known.Kind()), messageOf(known.Error())
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		c.observer.LogUnavailable(e, c.outages, err)
		return web.Status(fault.Unavailable), titleOf(fault.Unavailable), words.Of("The service took too long to answer.")
	}
	c.observer.LogFailure(e, slog.LevelError, err)
	return web.Status(fault.Internal), words.Of("Something went wrong"), words.Of("The fault is in the service, not in what you did. The service's log has the details.")
}

// titleOf returns the headline of an error.
func titleOf(k fault.Kind) words.Phrase {
	switch k {
	case fault.NotFound:
		return words.Of("Page not found")
	case fault.Forbidden:
		return words.Of("You don't have access to this page")
	case fault.Conflict:
		return words.Of("This conflicts with another change or entry")
	case fault.Limited, fault.Unavailable:
		return words.Of("Please try again in a moment")
	default:
		return words.Of("The request could not be processed")
	}
}
