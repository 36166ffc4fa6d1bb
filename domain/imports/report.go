package imports

// Report counts what became of the rows of a file.
type Report struct {
	Created    int // new users
	Enrolled   int // users who were known, now members of the organization
	Updated    int // members who gained a group, an address or metadata
	Unchanged  int // members to whom the row added nothing
	Duplicates int // rows with the e-mail of an earlier row
	Rejected   int // rows that are wrong
}

// Added is how many users are new in the organization. Its operators read this number alone: who is
// known to the installation is nothing that a count may say.
func (r Report) Added() int { return r.Created + r.Enrolled }

// Rows is how many rows the report speaks of.
func (r Report) Rows() int {
	return r.Created + r.Enrolled + r.Updated + r.Unchanged + r.Duplicates + r.Rejected
}

// Plus is the report of both.
func (r Report) Plus(o Report) Report {
	return Report{Created: r.Created + o.Created, Enrolled: r.Enrolled + o.Enrolled, Updated: r.Updated + o.Updated,
		Unchanged: r.Unchanged + o.Unchanged, Duplicates: r.Duplicates + o.Duplicates, Rejected: r.Rejected + o.Rejected}
}
