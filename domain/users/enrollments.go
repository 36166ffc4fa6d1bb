package users

import (
	"strings"

	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/names"
)

// Enrollment is one person who becomes a member of an organization: the payload of POST (contract
// 4.1) and a row of an import (contract 1.1). Names and fields count only if the batch says so.
type Enrollment struct {
	Details // what the organization records about a new member

	CustomFields metadata.Map
}

// NewEnrollment checks the fields of an enrollment, whose details are given by their names.
func NewEnrollment(given func(name string) string, fields metadata.Map) (Enrollment, error) {
	var faults fault.Fields
	var email string
	d, err := NewDetails(func(name string) string {
		value := given(name)
		if name == "email" {
			email = value
		}
		return value
	})
	if strings.TrimSpace(email) == "" {
		_, missing := ParseEmail("email", email)
		faults.Add("", missing)
	}
	faults.Add("", err)
	faults.Add("custom_fields", fields.Check())
	return Enrollment{d, fields}, faults.Err()
}

// Key returns the form in which two enrollments are equal if they mean the same person.
func (e Enrollment) Key() string { return names.Fold(e.Email) }
