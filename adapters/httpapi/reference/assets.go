package reference

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"mime"
	"path"
	"strings"
)

//go:embed reference.js vendor/elements.min.js vendor/elements.min.css
var files embed.FS

// Asset is a style sheet or a script of the page. Changed content gets a new name.
type Asset struct {
	Name        string
	ContentType string
	Body        []byte
}

// newAsset reads an embedded file. It inserts a part of its checksum into its name.
func newAsset(file string) (Asset, error) {
	body, err := files.ReadFile(file)
	if err != nil {
		return Asset{}, fmt.Errorf("reading a part of the reference page: %w", err)
	}
	sum, extension := sha256.Sum256(body), path.Ext(file)
	return Asset{
		Name:        strings.TrimSuffix(path.Base(file), extension) + "-" + hex.EncodeToString(sum[:6]) + extension,
		ContentType: mime.TypeByExtension(extension), Body: body,
	}, nil
}
