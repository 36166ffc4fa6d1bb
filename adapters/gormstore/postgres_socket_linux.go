package gormstore

import (
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// controlSocket makes the kernel close a TCP connection when sent data is not acknowledged. By
// default it retries for a quarter of an hour.
func controlSocket(network, _ string, raw syscall.RawConn) (err error) {
	if !strings.HasPrefix(network, "tcp") {
		return nil
	}
	controlled := raw.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(tcpUserTimeout.Milliseconds()))
	})
	if controlled != nil {
		return controlled
	}
	return err
}
