package rows

import "maps"

// Known are the tables that have a rule about where their rows belong.
func Known() (ofOrganization, ofInstallation, nowhere []string) {
	for table := range maps.Keys(belongs) {
		ofOrganization = append(ofOrganization, table)
	}
	return ofOrganization, stays, left
}

// References are the foreign keys: table, parent.
func (r *Rows) References() (all [][2]string) {
	for _, f := range r.refers {
		all = append(all, [2]string{f.table, f.parent})
	}
	return all
}
