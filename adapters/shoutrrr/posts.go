package shoutrrr

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// post is a request that passes a message to a service.
type post struct {
	method string // empty: POST
	url    string
	header map[string]string
	body   []byte
}

// asJSON returns a post with a JSON body; headers are names and values.
func asJSON(target string, body any, headers ...string) (post, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return post{}, err
	}
	p := post{url: target, header: map[string]string{"Content-Type": "application/json"}, body: text}
	for i := 0; i+1 < len(headers); i += 2 {
		p.header[headers[i]] = headers[i+1]
	}
	return p, nil
}

// one returns a list of one post.
func one(p post, err error) ([]post, error) {
	if err != nil {
		return nil, err
	}
	return []post{p}, nil
}

// asForm returns a post with a form as its body.
func asForm(target string, form url.Values) post {
	return post{url: target, header: map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, body: []byte(form.Encode())}
}

// send sends the request and returns the body of the response. The messageTransport classifies the
// response.
func (p post) send(ctx context.Context, client *http.Client) ([]byte, error) {
	method := p.method
	if method == "" {
		method = http.MethodPost
	}
	request, err := http.NewRequestWithContext(ctx, method, p.url, bytes.NewReader(p.body))
	if err != nil {
		return nil, errors.New("the URL of the service cannot be made of it") // The parser's error repeats it.
	}
	for name, value := range p.header {
		if strings.ContainsAny(value, "\r\n") {
			return nil, errors.New("a line break in a header")
		}
		request.Header.Set(name, value)
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	return io.ReadAll(response.Body)
}
