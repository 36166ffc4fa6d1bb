package operators

// The methods besides a password alone.
const (
	ByPasswordAndCode    Method = "password and code"
	ByPasswordAndPasskey Method = "password and passkey"
	ByPasskey            Method = "passkey"
	BySingleSignOn       Method = "single sign-on"
)

// Strong reports whether the method takes more than knowing a password. With single sign-on the
// provider applies its own rules.
func (m Method) Strong() bool { return m != ByPassword }
