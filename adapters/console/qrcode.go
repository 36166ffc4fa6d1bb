package console

import (
	"fmt"
	"strings"

	"github.com/boombuler/barcode/qr"
)

// quietZone is the empty space around a QR code, in modules, that readers need.
const quietZone = 4

// qrCode is a QR code as an inline SVG image, which the Content-Security-Policy allows.
type qrCode struct {
	Path string // of the dark modules
	Size int    // in modules, with the quiet zone
}

func newQRCode(text string) (qrCode, error) {
	code, err := qr.Encode(text, qr.M, qr.Auto)
	if err != nil {
		return qrCode{}, fmt.Errorf("QR code: %w", err)
	}
	var path strings.Builder
	bounds := code.Bounds()
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			if r, _, _, _ := code.At(x, y).RGBA(); r == 0 {
				fmt.Fprintf(&path, "M%d %dh1v1h-1z", x-bounds.Min.X+quietZone, y-bounds.Min.Y+quietZone)
			}
		}
	}
	return qrCode{Path: path.String(), Size: bounds.Dx() + 2*quietZone}, nil
}
