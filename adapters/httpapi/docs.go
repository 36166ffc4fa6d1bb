package httpapi

import (
	"embed"
	"io/fs"
	"net/http"
	"sync"

	"github.com/labstack/echo/v4"

	"github.com/tocsin/tocsin/adapters/httpapi/reference"
	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/adapters/web/static"
)

// Paths of the document and of the pages about it.
const (
	documentPath = "/api/openapi.json"
	docsPath     = "/api/docs/"
	stylePath    = docsPath + "reference.css"
	assetsPath   = docsPath + "assets/"
	startPath    = docsPath + "start/"
	errorsPath   = docsPath + "errors/" // the prefix of problem types
)

// documentation returns the routes of the documentation pages and their assets. The OpenAPI
// document does not contain them.
func documentation() []Route {
	return []Route{
		{http.MethodGet, startPath, "", (*API).showStart},
		{http.MethodGet, errorsPath, "", (*API).showErrors},
		{http.MethodGet, errorsPath + "{code}/", "", (*API).showError},
		{http.MethodGet, stylePath, "", (*API).showStyle},
		{http.MethodGet, assetsPath + "{asset}", "", (*API).showAsset},
	}
}

// document is the source of the OpenAPI document in YAML. openapi.yaml describes what the contract
// requires; the folder openapi has a file for each further resource, and shared fragments.
//
//go:embed openapi.yaml openapi/*.yaml
var document embed.FS

// docPages is the OpenAPI document and the documentation pages, ready to serve.
type docPages struct {
	json, html, start, style *static.File
	assets                   map[string]*static.File
}

// loadReference reads the embedded document once per process.
var loadReference = sync.OnceValues(func() (*docPages, error) {
	const main, fragments = "openapi.yaml", "openapi/fragments.yaml"
	names, err := fs.Glob(document, "openapi/*.yaml")
	if err != nil {
		return nil, err
	}
	text := map[string]string{}
	for _, name := range append(names, main) {
		part, err := document.ReadFile(name)
		if err != nil {
			return nil, err
		}
		text[name] = string(part)
	}
	parts := []string{text[main]}
	for _, name := range names {
		if name != fragments {
			parts = append(parts, text[name])
		}
	}
	r, err := reference.New(text[fragments], parts, reference.URLs{
		Reference: docsPath, Document: documentPath, Style: stylePath, Assets: assetsPath, Start: startPath,
	})
	if err != nil {
		return nil, err
	}
	m := &docPages{
		json: static.New(echo.MIMEApplicationJSON, r.JSON()), html: static.New(echo.MIMETextHTMLCharsetUTF8, r.HTML()),
		start: static.New(echo.MIMETextHTMLCharsetUTF8, r.Start()), style: static.New("text/css; charset=utf-8", r.CSS()),
		assets: map[string]*static.File{},
	}
	for _, asset := range r.Assets() {
		m.assets[asset.Name] = static.New(asset.ContentType, asset.Body)
	}
	return m, nil
})

func (a *API) showDocument(c call) error {
	c.cacheable()
	return a.docs.json.Serve(c)
}

// showReference serves the page that renders the document, with its own Content-Security-Policy.
func (a *API) showReference(c call) error {
	c.cacheable()
	c.Response().Header().Set(echo.HeaderContentSecurityPolicy, reference.Policy)
	return a.docs.html.Serve(c)
}

func (a *API) showStart(c call) error {
	c.plainDocument()
	return a.docs.start.Serve(c)
}

// document serves a documentation page that loads only its style sheet.
func (c call) document(html []byte) error {
	c.plainDocument()
	return c.writeBody(http.StatusOK, echo.MIMETextHTMLCharsetUTF8, html)
}

func (c call) plainDocument() {
	c.cacheable()
	c.Response().Header().Set(echo.HeaderContentSecurityPolicy,
		"default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
}

func (a *API) showStyle(c call) error {
	c.cacheable()
	return a.docs.style.Serve(c)
}

// showAsset serves an asset of the reference page. Browsers may cache it for ever, because changed
// content has another name.
func (a *API) showAsset(c call) error {
	found, ok := a.docs.assets[web.Param(c, "asset")]
	if !ok {
		return web.ErrNoSuchPath
	}
	c.Response().Header().Set(echo.HeaderCacheControl, "public, max-age=31536000, immutable")
	return found.Serve(c)
}

// cacheable lets browsers cache a public response for five minutes.
func (c call) cacheable() { c.Response().Header().Set(echo.HeaderCacheControl, "public, max-age=300") }
