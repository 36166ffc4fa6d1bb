package configs

import (
	"errors"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// Traces configures the export of traces.
type Traces struct {
	Endpoint string  // that spans are posted to; empty: nothing is traced
	Ratio    float64 // of the traces that start here

	headers Secret
}

// Headers returns the headers that the collector requires.
func (t Traces) Headers() map[string]string {
	all := map[string]string{}
	for pair := range strings.SplitSeq(t.headers.Reveal(), ",") {
		if name, value, found := strings.Cut(pair, "="); found {
			all[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
	}
	return all
}

// tracesPath is the path where collectors accept spans by default.
const tracesPath = "/v1/traces"

func tracesEndpoint(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "":
		return "", errors.New("must be an http or https URL, for example http://collector:4318")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return "", errors.New("must not carry a user name, a query or a fragment; a key belongs into traces_headers")
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = tracesPath
	}
	return u.String(), nil
}

func tracesHeaders(text string) (Secret, error) {
	if text == "" {
		return parseSecret("")
	}
	for pair := range strings.SplitSeq(text, ",") {
		name, value, found := strings.Cut(pair, "=")
		if !found || !httpguts.ValidHeaderFieldName(strings.TrimSpace(name)) || !httpguts.ValidHeaderFieldValue(strings.TrimSpace(value)) {
			return Secret{}, errors.New("must be headers as NAME=VALUE, separated by commas")
		}
	}
	return parseSecret(text)
}

func ratio(text string) (float64, error) {
	r, err := strconv.ParseFloat(text, 64)
	if err != nil || !(r >= 0 && r <= 1) {
		return 0, errors.New("must be a number from 0 to 1")
	}
	return r, nil
}
