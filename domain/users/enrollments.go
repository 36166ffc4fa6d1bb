package users

import (
	"strings"

	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/names"
)

// Enrollment is one person to be made a member of an organization: the payload of POST (contract
// 4.1) and a row of an import (contract 1.1). Names and fields count only where the batch says so.
type Enrollment struct {
	Email        string
	FirstName    string
	LastName     string
	CustomFields metadata.Map
}

// NewEnrollment checks the fields of an enrollment.
func NewEnrollment(email, first, last string, fields metadata.Map) (Enrollment, error) {
	var faults fault.Fields
	d, err := NewDetails(email, first, last)
	if strings.TrimSpace(email) == "" {
		_, missing := ParseEmail("email", email)
		faults.Add("", missing)
	}
	faults.Add("", err)
	e := Enrollment{Email: d.Email, FirstName: d.FirstName, LastName: d.LastName}
	e.CustomFields = fields
	faults.Add("custom_fields", fields.Check())
	return e, faults.Err()
}

// Key is the form under which two enrollments mean the same person.
func (e Enrollment) Key() string { return names.Fold(e.Email) }

// Details are what the organization records when the enrollment makes somebody a member.
func (e Enrollment) Details() Details {
	return Details{Email: e.Email, FirstName: e.FirstName, LastName: e.LastName}
}
