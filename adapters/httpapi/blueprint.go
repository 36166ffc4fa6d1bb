package httpapi

import (
	"errors"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tocsin/tocsin/adapters/blueprint"
	"github.com/tocsin/tocsin/adapters/httpapi/jsonbody"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/fault"
)

var errBlueprintType = fault.New(fault.Unsupported, "a blueprint must be sent as Content-Type: application/yaml or application/json, in UTF-8")

// applied is the result of applying a blueprint.
type applied struct {
	DryRun    bool     `json:"dry_run"`
	Created   int      `json:"created"`
	Updated   int      `json:"updated"`
	Unchanged int      `json:"unchanged"`
	Changes   []change `json:"changes"`
}

// change is the outcome for one object of a blueprint, as `tocsin apply -o json` prints it.
type change struct {
	Kind   string     `json:"kind"`
	Path   string     `json:"path"`
	ID     int64      `json:"id"`
	Action app.Action `json:"action"`
}

// applyBlueprint is `tocsin apply` for the path's organization.
func (a *API) applyBlueprint(c call) error {
	var faults fault.Fields
	onlyParameters(c.QueryParams(), &faults, "dry_run") // With a misspelt dry_run nothing must be applied.
	if err := faults.Err(); err != nil {
		return err
	}
	dryRun, err := c.boolParameter("dry_run")
	if err != nil {
		return err
	}
	text, err := c.bodyOf(isYAML, errBlueprintType)
	if err != nil {
		return err
	}
	if len(text) == 0 {
		return fault.Field(jsonbody.Body, "is missing")
	}
	if !utf8.Valid(text) {
		return fault.Field(jsonbody.Body, "is not valid UTF-8")
	}
	// Clients must not read the environment of the service, so there are no variables.
	file, err := blueprint.Parse("the body", text, nil)
	if err != nil {
		return blueprintFault(err)
	}
	done, err := a.use.Provisioning.ApplyTo(c.ctx, c.actor(), c.at(), file.Blueprint, dryRun)
	if err != nil {
		return err
	}
	answer := applied{DryRun: dryRun, Changes: make([]change, len(done))}
	for i, d := range done {
		answer.Changes[i] = change(d)
		switch d.Action {
		case app.Created:
			answer.Created++
		case app.Updated:
			answer.Updated++
		case app.Unchanged:
			answer.Unchanged++
		}
	}
	return c.answer(http.StatusOK, answer)
}

// blueprintFault turns parse errors of a blueprint into a fault.
func blueprintFault(err error) error {
	all, ok := errors.AsType[blueprint.Mistakes](err)
	if !ok {
		return err
	}
	var faults fault.Fields
	for _, m := range all[:min(len(all), maxMistakes)] {
		field, message := m.Path, m.Message
		if field == "" {
			field = jsonbody.Body
		}
		if m.Line > 0 {
			message += " (line " + strconv.Itoa(m.Line) + ")"
		}
		faults.Addf(field, "%s", message)
	}
	if len(all) > maxMistakes {
		faults.Addf(jsonbody.Body, "may have more mistakes than are listed here")
	}
	return faults.Err()
}

// maxMistakes is the maximum number of reported parse errors.
const maxMistakes = 50

// isYAML reports whether a content type is JSON or one of those used for YAML.
func isYAML(contentType string) bool {
	media, parameters, err := mime.ParseMediaType(contentType)
	charset, named := parameters["charset"]
	switch media {
	case "application/yaml", "application/x-yaml", "text/yaml":
		return err == nil && (!named || strings.EqualFold(charset, "utf-8"))
	}
	return isJSON(contentType)
}

// boolParameter reads a boolean query parameter; absent means false.
func (c call) boolParameter(name string) (bool, error) {
	switch c.QueryParam(name) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	if c.QueryParams().Has(name) {
		return false, fault.Field(name, "must be true or false")
	}
	return false, nil
}
