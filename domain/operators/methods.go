package operators

// The methods besides a password alone.
const (
	ByPasswordAndCode    Method = "password and code"
	ByPasswordAndPasskey Method = "password and passkey"
	ByPasskey            Method = "passkey"
	BySingleSignOn       Method = "single sign-on"
)
