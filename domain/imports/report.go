package imports

// Report counts the rows of a file by their result.
type Report struct {
	Created    int // new users
	Enrolled   int // existing users, now members of the organization
	Updated    int // members who gained a group, an address or metadata
	Unchanged  int // members to whom the row added nothing
	Duplicates int // rows with the e-mail of an earlier row
	Rejected   int // rows with errors
}

// Added returns how many users are new in the organization. Its operators see only this number: no
// count may reveal which users the installation already had.
func (r Report) Added() int { return r.Created + r.Enrolled }

// Rows returns the number of all rows of the report.
func (r Report) Rows() int {
	return r.Created + r.Enrolled + r.Updated + r.Unchanged + r.Duplicates + r.Rejected
}

// Plus returns the sum of both.
func (r Report) Plus(o Report) Report {
	return Report{Created: r.Created + o.Created, Enrolled: r.Enrolled + o.Enrolled, Updated: r.Updated + o.Updated,
		Unchanged: r.Unchanged + o.Unchanged, Duplicates: r.Duplicates + o.Duplicates, Rejected: r.Rejected + o.Rejected}
}
