package delivery

import (
	"slices"
	"strings"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/fault"
)

// Drivers are the technologies by which this program can send.
type Drivers []deliveries.Driver

// Check reports what is wrong with a channel's driver or settings.
func (d Drivers) Check(c channels.Channel) error {
	driver, err := d.Find(c.Driver)
	if err != nil {
		return err
	}
	return driver.Check(c)
}

// Open returns a dispatcher for a channel. Its failures do not repeat the channel's secrets.
func (d Drivers) Open(c channels.Channel) (deliveries.Dispatcher, error) {
	driver, err := d.Find(c.Driver)
	if err != nil {
		return nil, err
	}
	if err := driver.Check(c); err != nil {
		return nil, err
	}
	opened, err := driver.Open(c)
	if err != nil {
		return nil, err
	}
	return newRedacting(opened, c.Settings, channels.Secrets(driver.Settings())), nil
}

// Find returns the driver of that name, or an error that lists the existing ones.
func (d Drivers) Find(name string) (deliveries.Driver, error) {
	i := slices.IndexFunc(d, func(driver deliveries.Driver) bool { return driver.Name() == name })
	if i < 0 {
		known := make([]string, len(d))
		for n, driver := range d {
			known[n] = driver.Name()
		}
		return nil, fault.Field("driver", "there is no driver %q; there are %s", name, strings.Join(known, ", "))
	}
	return d[i], nil
}
