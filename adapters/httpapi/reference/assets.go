package reference

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"mime"
	"path"
	"strings"
)

// The files are variables because reading them from an embed.FS would copy two megabytes to the
// heap.
var (
	//go:embed reference.js
	ownScript []byte
	//go:embed vendor/elements.min.js
	elementsScript []byte
	//go:embed vendor/elements.min.css
	elementsStyle []byte
)

// Asset is a style sheet or a script of the page. Its name contains a checksum of its content.
type Asset struct {
	Name        string
	ContentType string
	Body        []byte
}

// newAsset returns an asset whose name contains a part of its checksum.
func newAsset(file string, body []byte) Asset {
	sum, extension := sha256.Sum256(body), path.Ext(file)
	return Asset{
		Name:        strings.TrimSuffix(file, extension) + "-" + hex.EncodeToString(sum[:6]) + extension,
		ContentType: mime.TypeByExtension(extension), Body: body,
	}
}
