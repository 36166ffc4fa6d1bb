package reference

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"mime"
	"path"
	"strings"
)

// The files are variables, not an embed.FS, whose reader would copy two megabytes to the heap.
var (
	//go:embed reference.js
	ownScript []byte
	//go:embed vendor/elements.min.js
	elementsScript []byte
	//go:embed vendor/elements.min.css
	elementsStyle []byte
)

// Asset is a style sheet or a script of the page. Changed content gets a new name.
type Asset struct {
	Name        string
	ContentType string
	Body        []byte
}

// newAsset inserts a part of its checksum into the name of a file.
func newAsset(file string, body []byte) Asset {
	sum, extension := sha256.Sum256(body), path.Ext(file)
	return Asset{
		Name:        strings.TrimSuffix(file, extension) + "-" + hex.EncodeToString(sum[:6]) + extension,
		ContentType: mime.TypeByExtension(extension), Body: body,
	}
}
