package archive

import "syscall"

// WriteFileWithoutLinks is WriteFile on a file system without links.
func WriteFileWithoutLinks(path string, content []byte) error {
	return writeFile(path, content, func(_, _ string) error { return syscall.EPERM })
}
