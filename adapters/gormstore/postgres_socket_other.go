//go:build !linux

package gormstore

import "syscall"

// controlSocket does nothing, because the kernel has no such limit. Keep-alives and the limits of
// statements remain.
func controlSocket(string, string, syscall.RawConn) error { return nil }
