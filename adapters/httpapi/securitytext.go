package httpapi

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tocsin/tocsin/adapters/web"
)

// securityTextPath is the path of security.txt. Like the HTML pages it is not part of the API.
const securityTextPath = "/.well-known/security.txt"

// securityTextLife is the validity of security.txt. RFC 9116 recommends less than a year.
const securityTextLife = 180 * 24 * time.Hour

func securityText() Route {
	return Route{http.MethodGet, securityTextPath, "", (*API).showSecurityText}
}

// showSecurityText serves security.txt (RFC 9116), if a contact is configured.
func (a *API) showSecurityText(c call) error {
	if len(a.options.SecurityContact) == 0 {
		return web.ErrNoSuchPath
	}
	var b strings.Builder
	for _, contact := range a.options.SecurityContact {
		fmt.Fprintf(&b, "Contact: %s\n", contact)
	}
	fmt.Fprintf(&b, "Expires: %s\n", a.clock.Now().UTC().Truncate(24*time.Hour).Add(securityTextLife).Format(time.RFC3339))
	if strings.HasPrefix(a.options.BaseURL, "https:") {
		fmt.Fprintf(&b, "Canonical: %s\n", a.options.BaseURL+securityTextPath)
	}
	if a.options.SecurityPolicy != "" {
		fmt.Fprintf(&b, "Policy: %s\n", a.options.SecurityPolicy)
	}
	c.cacheable()
	return c.writeBody(http.StatusOK, echo.MIMETextPlainCharsetUTF8, []byte(b.String()))
}
