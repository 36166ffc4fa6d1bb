package rows

import "maps"

// Known returns the tables that have a rule about the owner of their rows.
func Known() (ofOrganization, ofInstallation, nowhere []string) {
	for table := range maps.Keys(ownerPaths) {
		ofOrganization = append(ofOrganization, table)
	}
	return ofOrganization, installationTables, uncopiedTables
}

// References returns the foreign keys as table and parent.
func (r *Rows) References() (all [][2]string) {
	for _, f := range r.references {
		all = append(all, [2]string{f.table, f.parent})
	}
	return all
}
