package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
)

// The objects of the measured installation.
const (
	organization = "acme"
	project      = "shop"
	application  = "web"
	channel      = "mail"
	list         = "everybody"
)

const blueprint = `
organizations:
  - slug: ` + organization + `
    name: Acme
    channels:
      - {name: ` + channel + `, protocol: EMAIL, driver: smtp, preferred: true, settings: {host: localhost, port: 25, from: a@example.com, tls: none}}
    projects:
      - slug: ` + project + `
        name: Shop
        lists: [{name: ` + list + `}]
        applications: [{slug: ` + application + `, name: Web}]
`

// installation is a database with the program on it.
type installation struct {
	program  string
	environ  []string
	key      string
	listPath string
}

// install applies the blueprint to an empty database and creates a key.
func install(ctx context.Context, o options, d database) (installation, error) {
	i := installation{program: o.tocsin, environ: []string{"TOCSIN_DATABASE_URL=" + d.url,
		"TOCSIN_SECRET_KEY=" + strings.Repeat("42", 32)}}
	made, err := i.apply(ctx, blueprint)
	if err != nil {
		return i, err
	}
	for _, m := range made {
		if m.Kind == "list" {
			i.listPath = fmt.Sprintf("/api/o/%s/p/%s/d/%d/", organization, project, m.ID)
		}
	}
	printed, _, err := i.tocsin(ctx, "key", "create", "--name", "bench", "--org", organization, "--grant", "full_access").output(nil)
	i.key = strings.TrimSpace(string(printed))
	return i, err
}

// object is an object that a blueprint created.
type object struct {
	Kind string
	ID   int64
}

// apply applies a blueprint.
func (i installation) apply(ctx context.Context, blueprint string) (made []object, err error) {
	printed, _, err := i.tocsin(ctx, "apply", "-f", "-", "-o", "json").output(strings.NewReader(blueprint))
	if err != nil {
		return nil, err
	}
	err = json.Unmarshal(printed, &made)
	return made, err
}

// tocsin returns a command of the program on this installation.
func (i installation) tocsin(ctx context.Context, args ...string) *process {
	return newProcess(ctx, i.program, i.environ, args...)
}

// serve starts the service.
func (i installation) serve(ctx context.Context, flags ...string) (*server, error) {
	return startServer(ctx, i.program, func(address string) []string { return append(settings(address), i.environ...) }, append([]string{"serve"}, flags...)...)
}

// call makes one call and reads the answer, which may be long.
func (i installation) call(ctx context.Context, s *server, method, path string, body io.Reader) (size, lines int, err error) {
	answer, err := i.send(ctx, s, method, path, body)
	if err != nil {
		return 0, 0, err
	}
	defer answer.Body.Close()
	return drained(answer.Body)
}

// send makes one call and returns its answer, or an error if it is refused. The caller closes the
// body.
func (i installation) send(ctx context.Context, s *server, method, path string, body io.Reader) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, "http://"+s.address+path, body)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Key "+i.key)
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultTransport.RoundTrip(request)
	if err != nil || answer.StatusCode < http.StatusMultipleChoices {
		return answer, err
	}
	defer answer.Body.Close()
	problem, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<10))
	return nil, fmt.Errorf("%s %s: %s\n%s", method, filepath.Base(path), answer.Status, problem)
}

// members reads the members of the list and returns the number of bytes.
func (i installation) members(ctx context.Context, s *server, want int) (size int, err error) {
	size, lines, err := i.call(ctx, s, http.MethodGet, i.listPath+"m/", http.NoBody)
	if err == nil && lines != want {
		err = fmt.Errorf("%d members came instead of %d", lines, want)
	}
	return size, err
}

// drained reads to the end and returns the number of bytes and of lines.
func drained(r io.Reader) (size, lines int, err error) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := r.Read(buffer)
		size += n
		lines += bytes.Count(buffer[:n], []byte{'\n'})
		if errors.Is(err, io.EOF) {
			return size, lines, nil
		}
		if err != nil {
			return size, lines, err
		}
	}
}
