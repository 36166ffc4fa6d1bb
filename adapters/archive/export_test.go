package archive

import "syscall"

// WriteFileWithoutLinks is WriteFile on a file system without links.
func WriteFileWithoutLinks(path string, content []byte) error {
	return writeFile(path, content, func(_, _ string) error { return syscall.EPERM })
}

// WriteLines is Write with another size of the longest line.
func WriteLines(path string, longest int, fill func(*Writer) error) error {
	return writeLines(path, longest, fill)
}

// OpenLines is Open with another size of the longest line.
func OpenLines(path string, longest int) (*Reader, error) { return openLines(path, longest) }
