package smtp

import (
	"bytes"
	"fmt"
	"strconv"

	mail "github.com/wneessen/go-mail/smtp"
)

// maxIterations is the maximum number of hash iterations that a server may ask for. Mail servers
// ask for 4,096 to some ten thousand. The number comes from the server, and nothing interrupts the
// hashing.
const maxIterations = 100_000

// scram is a login by SCRAM that limits the work for which the server may ask.
type scram struct {
	mail.Auth
	asked bool // the server has sent its salt and iterations
}

// Next refuses too many iterations, and a second request for them.
func (s *scram) Next(fromServer []byte, more bool) ([]byte, error) {
	if bytes.HasPrefix(fromServer, []byte("r=")) {
		if s.asked {
			return nil, localError("the server asks twice for a proof of the password")
		}
		s.asked = true
		if fields := bytes.Split(fromServer, []byte(",")); len(fields) > 2 {
			n, err := strconv.Atoi(string(bytes.TrimPrefix(fields[2], []byte("i="))))
			if err != nil || n < 1 || n > maxIterations {
				return nil, localError(fmt.Sprintf("the server must ask for 1 to %d iterations", maxIterations))
			}
		}
	}
	return s.Auth.Next(fromServer, more)
}
