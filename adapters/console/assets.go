package console

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"mime"
	"path"

	"github.com/labstack/echo/v4"

	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/adapters/web/static"
)

const assetsPath = Prefix + "assets/"

//go:embed assets/*.css assets/*.js assets/*.svg assets/vendor/*.js
var assetFiles embed.FS

// assets maps file names to style sheets, scripts and images.
type assets map[string]asset

type asset struct {
	*static.File

	version string // a part of the checksum of the content
}

func loadAssets() (assets, error) {
	all := assets{}
	err := fs.WalkDir(assetFiles, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		body, err := fs.ReadFile(assetFiles, file)
		sum := sha256.Sum256(body)
		all[path.Base(file)] = asset{static.New(mime.TypeByExtension(path.Ext(file)), body), hex.EncodeToString(sum[:6])}
		return err
	})
	return all, err
}

// showAsset lets browsers cache a versioned asset for ever, and the rest for a short while.
func (c call) showAsset() error {
	found, ok := c.console.assets[web.Param(c, "asset")]
	if !ok {
		return web.ErrNoSuchPath
	}
	cached := "public, max-age=300"
	if c.QueryParam("v") == found.version {
		cached = "public, max-age=31536000, immutable"
	}
	c.Response().Header().Set(echo.HeaderCacheControl, cached)
	return found.Serve(c)
}

// Asset returns the path of a style sheet or a script, with its version.
func (v view) Asset(name string) string {
	return v.call.path(assetsPath) + name + "?v=" + v.call.console.assets[name].version
}
