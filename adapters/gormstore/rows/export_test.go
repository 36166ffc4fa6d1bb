package rows

import "maps"

// Known are the tables that have a rule about where their rows belong.
func Known() (ofOrganization, ofInstallation, nowhere []string) {
	for table := range maps.Keys(ownerPaths) {
		ofOrganization = append(ofOrganization, table)
	}
	return ofOrganization, installationTables, uncopiedTables
}

// References are the foreign keys: table, parent.
func (r *Rows) References() (all [][2]string) {
	for _, f := range r.references {
		all = append(all, [2]string{f.table, f.parent})
	}
	return all
}
