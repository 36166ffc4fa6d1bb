package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// consoleClient uses the console as an administrator.
type consoleClient struct {
	http    http.Client
	base    string
	session string
	token   string // of its forms
}

// uploads measures an import from the console: the dry run, and the import itself. Its memory is
// that of the server, which also stores the file in the database and serves pages. The floor of
// both is to fill the tables.
func (b *bench) uploads(ctx context.Context, d database, file string) error {
	var floor sample
	if err := b.withDatabase(ctx, d.kind, func(ctx context.Context, empty database) (err error) {
		floor, _, err = rawFill(ctx, empty, b.rows)
		return err
	}); err != nil {
		return fmt.Errorf("floor of the import on %s: %w", d.kind, err)
	}
	i, err := install(ctx, b.options, d)
	if err != nil {
		return err
	}
	if _, _, err := i.tocsin(ctx, "admin", "create", "--username", operator, "--password-stdin").output(strings.NewReader(password)); err != nil {
		return err
	}
	return b.serving(ctx, i, func(s *server) error {
		o, err := newConsoleClient(ctx, s.address)
		if err != nil {
			return err
		}
		path, err := o.upload(ctx, organization, file)
		if err != nil {
			return err
		}
		for _, phase := range []struct{ what, state string }{
			{"dry run of an import in the console", "is ready to start"}, {"import of %s rows in the console", "is done"},
		} {
			start := time.Now()
			if err := o.wait(ctx, path, "The import "+phase.state); err != nil {
				return err
			}
			took := time.Since(start)
			what := phase.what
			if strings.Contains(what, "%") {
				what = fmt.Sprintf(what, number(float64(b.rows)))
			}
			b.result(what, d, "rows/s", figure{tocsin: sample{rate: float64(b.rows) / took.Seconds()}, floor: floor, peak: s.peak()})
			if phase.state == "is done" {
				return nil
			}
			if _, err := o.post(ctx, path+"start/", nil); err != nil {
				return err
			}
		}
		return nil
	})
}

func newConsoleClient(ctx context.Context, address string) (*consoleClient, error) {
	o := &consoleClient{base: "http://" + address}
	var err error
	if o.session, err = signIn(ctx, address); err != nil {
		return nil, err
	}
	_, err = o.send(ctx, http.MethodGet, "/console/", "", http.NoBody)
	return o, err
}

// response is the outcome of a request.
type response struct{ path, text string }

// send makes a request and remembers the token of the page.
func (o *consoleClient) send(ctx context.Context, method, path, contentType string, body io.Reader) (response, error) {
	request, err := http.NewRequestWithContext(ctx, method, o.base+path, body)
	if err != nil {
		return response{}, err
	}
	request.Header.Set("Content-Type", contentType)
	request.AddCookie(&http.Cookie{Name: "tocsin_session", Value: o.session}) //nolint:gosec // What is sent to the server has no attributes.
	answer, err := o.http.Do(request)
	if err != nil {
		return response{}, err
	}
	text, err := io.ReadAll(answer.Body)
	if err := errors.Join(err, answer.Body.Close()); err != nil {
		return response{}, err
	}
	if answer.StatusCode != http.StatusOK {
		return response{}, fmt.Errorf("%s %s: %s\n%s", method, path, answer.Status, text)
	}
	if found := formToken.FindSubmatch(text); found != nil {
		o.token = string(found[1])
	}
	return response{answer.Request.URL.Path, string(text)}, nil
}

func (o *consoleClient) post(ctx context.Context, path string, form url.Values) (response, error) {
	if form == nil {
		form = url.Values{}
	}
	form.Set("form_token", o.token)
	return o.send(ctx, http.MethodPost, path, "application/x-www-form-urlencoded", strings.NewReader(form.Encode()))
}

// upload sends the file to an organization as browsers do, and returns the path of the import.
func (o *consoleClient) upload(ctx context.Context, org, path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	out, in := io.Pipe()
	form := multipart.NewWriter(in)
	go func() {
		err := form.WriteField("form_token", o.token)
		if err == nil {
			var part io.Writer
			if part, err = form.CreateFormFile("file", "people.csv"); err == nil {
				_, err = io.Copy(part, file)
			}
		}
		in.CloseWithError(errors.Join(err, form.Close()))
	}()
	done, err := o.send(ctx, http.MethodPost, "/console/o/"+org+"/imports/", form.FormDataContentType(), out)
	return done.path, err
}

// wait requests a page until it contains a text.
func (o *consoleClient) wait(ctx context.Context, path, words string) error {
	const lookAgain = 100 * time.Millisecond
	again := time.NewTicker(lookAgain)
	defer again.Stop()
	for {
		p, err := o.send(ctx, http.MethodGet, path, "", http.NoBody)
		switch {
		case err != nil:
			return err
		case strings.Contains(p.text, words):
			return nil
		case strings.Contains(p.text, "The import failed"):
			return fmt.Errorf("%s: the import failed", path)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-again.C:
		}
	}
}
