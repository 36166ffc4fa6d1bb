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
	errorsPath   = docsPath + "errors/" // the type of each problem leads below it
)

// documentation is the pages about the API and the assets that they load. They are for people, and
// the OpenAPI document leaves them out.
func documentation() []Route {
	return []Route{
		{http.MethodGet, startPath, "", (*API).showStart},
		{http.MethodGet, errorsPath, "", (*API).showErrors},
		{http.MethodGet, errorsPath + "{code}/", "", (*API).showError},
		{http.MethodGet, stylePath, "", (*API).showStyle},
		{http.MethodGet, assetsPath + "{asset}", "", (*API).showAsset},
	}
}

// document is the OpenAPI document as it is written, in YAML: openapi.yaml describes what the
// contract requires, and the folder openapi has a file for each further noun and the fragments that
// they share.
//
//go:embed openapi.yaml openapi/*.yaml
var document embed.FS

// manual is the document and the pages about it, ready to serve.
type manual struct {
	json, html, start, style *static.File
	assets                   map[string]*static.File
}

// loadReference reads the document once per process: it is embedded and never changes.
var loadReference = sync.OnceValues(func() (*manual, error) {
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
	m := &manual{
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
	return a.manual.json.Serve(c)
}

// showReference serves the page that renders the document, under its own policy.
func (a *API) showReference(c call) error {
	c.cacheable()
	c.Response().Header().Set(echo.HeaderContentSecurityPolicy, reference.Policy)
	return a.manual.html.Serve(c)
}

func (a *API) showStart(c call) error {
	c.plainDocument()
	return a.manual.start.Serve(c)
}

// document serves another page of the documentation, which loads only its style sheet.
func (c call) document(html []byte) error {
	c.plainDocument()
	return c.whole(http.StatusOK, echo.MIMETextHTMLCharsetUTF8, html)
}

func (c call) plainDocument() {
	c.cacheable()
	c.Response().Header().Set(echo.HeaderContentSecurityPolicy,
		"default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
}

func (a *API) showStyle(c call) error {
	c.cacheable()
	return a.manual.style.Serve(c)
}

// showAsset serves an asset of the reference page. Browsers cache it for ever: changed content gets
// a new name.
func (a *API) showAsset(c call) error {
	found, ok := a.manual.assets[web.Param(c, "asset")]
	if !ok {
		return web.ErrNoSuchPath
	}
	c.Response().Header().Set(echo.HeaderCacheControl, "public, max-age=31536000, immutable")
	return found.Serve(c)
}

// cacheable lets browsers cache a public response for a short while: it changes with the next
// version.
func (c call) cacheable() { c.Response().Header().Set(echo.HeaderCacheControl, "public, max-age=300") }
