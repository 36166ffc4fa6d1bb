package httpapi

import (
	"sync"

	"github.com/tocsin/tocsin/adapters/httpapi/reference"
	"github.com/tocsin/tocsin/adapters/web"
)

// page returns the path of the page about an error.
func (p Problem) page() string { return errorsPath + p.Code + "/" }

// loadErrors parses the pages about errors once per process.
var loadErrors = sync.OnceValues(func() (*reference.Errors, error) {
	all := make([]reference.Problem, len(problems))
	for i, p := range problems {
		all[i] = reference.Problem{Code: p.Code, Status: p.Status, Title: p.Title, Meaning: p.Meaning, Remedy: p.Remedy}
	}
	return reference.NewErrors(all, errorsPath, docsPath, stylePath)
})

func (a *API) showErrors(c call) error {
	html, err := a.errors.Index()
	if err != nil {
		return err
	}
	return c.document(html)
}

func (a *API) showError(c call) error {
	html, ok, err := a.errors.Page(web.Param(c, "code"))
	switch {
	case err != nil:
		return err
	case !ok:
		return web.ErrNoSuchPath.With("there is no error with this code; %s lists all of them", errorsPath).On("code")
	}
	return c.document(html)
}
