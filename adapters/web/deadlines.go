package web

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

// ExtendDeadline gives the client of a streamed response this long to take the next chunk. Such a
// response may take longer than others while the client keeps reading. 0: there is no deadline.
// ErrUndelivered.
func ExtendDeadline(w http.ResponseWriter, timeout time.Duration) error {
	if timeout <= 0 {
		return nil
	}
	connection := http.NewResponseController(w)
	err := errors.Join(connection.SetReadDeadline(time.Time{}), connection.SetWriteDeadline(time.Now().Add(timeout)))
	if err != nil && !errors.Is(err, http.ErrNotSupported) {
		return fmt.Errorf("%w: %w", ErrUndelivered, err)
	}
	return nil
}
