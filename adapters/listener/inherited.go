package listener

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
)

const (
	firstInherited = 3 // as systemd counts: after the standard streams
	maxInherited   = 16
)

// errInherited means that the sockets from systemd cannot be used.
var errInherited = errors.New("the sockets of systemd (LISTEN_FDS) cannot be used")

// inherited returns the sockets that systemd passes to the process with this id, if any.
func inherited(environ []string, process int) ([]net.Listener, error) {
	variables := map[string]string{}
	for _, entry := range environ {
		if name, value, _ := strings.Cut(entry, "="); name == "LISTEN_PID" || name == "LISTEN_FDS" {
			variables[name] = value
		}
	}
	if variables["LISTEN_FDS"] == "" || variables["LISTEN_PID"] != strconv.Itoa(process) {
		return nil, nil
	}
	count, err := strconv.Atoi(variables["LISTEN_FDS"])
	if err != nil || count < 1 || count > maxInherited {
		return nil, fmt.Errorf("%w: their number is not one from 1 to %d", errInherited, maxInherited)
	}
	all := make([]net.Listener, 0, count)
	for fd := firstInherited; fd < firstInherited+count; fd++ {
		l, err := listenerOf(fd)
		if err != nil {
			for _, open := range all {
				err = errors.Join(err, open.Close())
			}
			return nil, fmt.Errorf("%w: number %d: %w", errInherited, fd, err)
		}
		all = append(all, l)
	}
	return all, nil
}

func listenerOf(fd int) (l net.Listener, err error) {
	syscall.CloseOnExec(fd)
	file := os.NewFile(uintptr(fd), "LISTEN_FD_"+strconv.Itoa(fd))
	if file == nil {
		return nil, syscall.EBADF
	}
	defer func() { err = errors.Join(err, file.Close()) }() // The listener has a copy of it.
	return net.FileListener(file)
}
