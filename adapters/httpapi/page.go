package httpapi

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"

	"github.com/labstack/echo/v4"
)

//go:embed page.gohtml
var pageTemplate string

//go:embed page.css
var pageStyle template.CSS

// page is the HTML page of unsubscribe links. It is self-contained and has no script.
type page struct {
	template *template.Template
	policy   string // of its Content-Security-Policy header
}

// pageView is the data of a page.
type pageView struct {
	Title, Text string
	About       *aboutLink // nil: nothing
	RequestID   string
}

// aboutLink describes what an unsubscribe link is about.
type aboutLink struct {
	Notification, Application, Organization, Address string
	Out                                              bool
}

func newPage() (*page, error) {
	t, err := template.New("page").Parse(pageTemplate)
	if err != nil {
		return nil, fmt.Errorf("the page for people is broken: %w", err)
	}
	style := sha256.Sum256([]byte(pageStyle))
	return &page{template: t, policy: "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(style[:]) +
		"'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"}, nil
}

func (p *page) render(v pageView) ([]byte, error) {
	var b bytes.Buffer
	err := p.template.Execute(&b, struct {
		pageView
		Style template.CSS
	}{v, pageStyle})
	return b.Bytes(), err
}

// htmlKey is the context key of requests that get HTML responses, also for errors.
const htmlKey = "page"

// asHTML sets the headers of an HTML page, and makes errors HTML too.
func (a *API) asHTML(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		c.Set(htmlKey, true)
		header := c.Response().Header()
		header.Set(echo.HeaderContentSecurityPolicy, a.page.policy)
		header.Set("X-Robots-Tag", "noindex, nofollow")
		return next(c)
	}
}

// failure renders the page about an error.
func (p *page) failure(status int, requestID string) ([]byte, error) {
	var v pageView
	if status >= http.StatusInternalServerError { // Support staff will need it.
		v.RequestID = requestID
	}
	switch status {
	case http.StatusNotFound:
		v.Title, v.Text = "This link does not work", "The address may be incomplete. Please open the link from the message again."
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		v.Title, v.Text = "Please try again in a moment", "The service cannot answer right now. Trying again does no harm."
	case http.StatusInternalServerError:
		v.Title, v.Text = "Something went wrong", "That is our fault, not yours. Trying again later does no harm."
	default:
		v.Title, v.Text = "The request could not be processed", "Nothing was changed. Please open the link again and use the button."
	}
	return p.render(v)
}
