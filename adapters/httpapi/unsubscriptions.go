package httpapi

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/deliveries"
)

// maxForm is the maximum size of a form, in bytes.
const maxForm = 16 << 10

// showUnsubscription shows the page of an unsubscribe link. It changes nothing, because mail
// scanners follow links.
func (a *API) showUnsubscription(c call) error {
	token, err := a.openLink(c)
	if err != nil {
		return err
	}
	found, err := a.use.Unsubscriptions.Show(c.ctx, token)
	title, text := "Unsubscribe", "Press the button, and these messages are not sent to this address any more."
	if found.Out {
		title, text = "You are unsubscribed", "These messages are not sent to this address."
	}
	return c.showLink(title, text, found, err)
}

// setUnsubscription unsubscribes for any form: that of the page, or that of a mail provider with
// `List-Unsubscribe=One-Click` (RFC 8058), which follows no redirect. `action=undo` subscribes
// again.
func (a *API) setUnsubscription(c call) error {
	token, err := a.openLink(c)
	if err != nil {
		return err
	}
	form, err := c.read(min(maxForm, a.options.BodyLimit))
	if err != nil {
		return err
	}
	undo := formValue(c.Request().Header.Get(echo.HeaderContentType), form, "action") == "undo"
	found, err := a.use.Unsubscriptions.Set(c.ctx, audit.Actor{Address: c.address(), Via: audit.Link}, token, !undo)
	title, text := "You are unsubscribed", "From now on these messages are not sent to this address."
	if undo {
		title, text = "You are not unsubscribed", "These messages may be sent to this address again."
	}
	return c.showLink(title, text, found, err)
}

// openLink returns the token in the path. It limits the rate per link, not per client address,
// because mail providers use many links from few addresses.
func (a *API) openLink(c call) (string, error) {
	token := web.Param(c, "token")
	if wait := a.guard.links.Take(sha256.Sum256([]byte(token))); wait > 0 {
		return "", web.TooMany("too many requests with this link", wait)
	}
	return token, nil
}

// showLink responds with the page about a link.
func (c call) showLink(title, text string, found deliveries.Unsubscription, err error) error {
	shown := pageView{Title: title, Text: text, About: &aboutLink{Notification: found.Notification, Application: found.Application,
		Organization: found.Organization, Address: masked(found.AddressKey), Out: found.Out}}
	switch {
	case errors.Is(err, deliveries.ErrLinkOutdated): // The recipient gets no more of these messages, as requested.
		shown = pageView{Title: "There is nothing to unsubscribe from", Text: "These messages, or your membership of the organization that sent them, do not exist any more."}
	case err != nil:
		return err
	}
	html, err := c.api.page.render(shown)
	if err != nil {
		return err
	}
	return c.writeBody(http.StatusOK, echo.MIMETextHTMLCharsetUTF8, html)
}

// formValue returns a field of a URL-encoded or multipart form; "" if it is missing.
func formValue(contentType string, form []byte, name string) string {
	media, parameters, err := mime.ParseMediaType(contentType)
	if err != nil {
		return ""
	}
	var fields map[string][]string
	switch media {
	case echo.MIMEApplicationForm:
		fields, _ = url.ParseQuery(string(form)) // It returns the fields that it could parse.
	case echo.MIMEMultipartForm:
		parts, err := multipart.NewReader(bytes.NewReader(form), parameters["boundary"]).ReadForm(maxForm)
		if err != nil {
			return ""
		}
		fields = parts.Value
	}
	return url.Values(fields).Get(name)
}

// masked hides most of an address, because link scanners may publish the page.
func masked(address string) string {
	_, first := utf8.DecodeRuneInString(address)
	at := strings.LastIndexByte(address, '@')
	if at < first {
		at = len(address)
	}
	return address[:first] + "…" + address[at:]
}
