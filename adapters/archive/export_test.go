package archive

import "syscall"

// WriteFileWithoutLinks is WriteFile on a file system without links.
func WriteFileWithoutLinks(path string, content []byte) error {
	d, err := newTempFile(path)
	if err != nil {
		return err
	}
	defer d.discard()
	if _, err := d.file.Write(content); err != nil {
		return err
	}
	return d.name(func(_, _ string) error { return syscall.EPERM })
}
