//go:build !linux

package gormstore

import "syscall"

// controlSocket does nothing, because the kernel has no such timeout. Keep-alives and the timeouts
// of statements remain.
func controlSocket(string, string, syscall.RawConn) error { return nil }
