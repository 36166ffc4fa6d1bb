package imports

// Delimiter is what separates the cells: comma, semicolon or tab.
func (h Header) Delimiter() rune { return h.delimiter }
