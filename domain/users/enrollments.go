package users

import (
	"strings"

	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/names"
	"github.com/tocsin/tocsin/domain/orgs"
)

// Enrollment is one person to be made a member of an organization: the payload of POST (contract 4.1) and a row of an
// import (contract 1.1). Names and fields count only where the batch says so.
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

// Batch is a set of enrollments into one organization, treated alike.
type Batch struct {
	Enrollments []Enrollment
	// Group is linked beside the Default group; 0 for none. It belongs to the organization.
	Group orgs.GroupID
	// MergeFields merges the custom fields into those of members who were there already (import); otherwise they
	// count only for memberships that the batch creates (POST).
	MergeFields bool
	// DryRun answers what would become of the batch; what would be new has no id. It only reads.
	DryRun bool
}

// Enrolled is what became of one enrollment.
type Enrolled struct {
	Member   Member
	Created  bool // the identity is new
	Enrolled bool // the membership is new
	Changed  bool // an existing membership gained a group, an address or other fields
	// Err is set when this enrollment alone was refused (its merged fields would be too large); nothing of it is kept.
	Err error
}
