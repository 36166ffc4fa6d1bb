package main

import (
	"archive/tar"
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// The user and the folder of the program in a container.
const (
	user = 10001
	home = "var/lib/tocsin"
)

// writeImages writes an image of each binary, for `docker load` or `podman load`, and one OCI
// layout of them all, which any tool can push. The same binaries make the same images.
func writeImages(args []string) error {
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	version := flags.String("version", "development", "the image's tag")
	out := flags.String("out", "", "the folder to write to")
	if err := flags.Parse(args); err != nil {
		return err
	}
	tag, err := name.NewTag("tocsin:" + *version)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(*out); err != nil {
		return err
	}
	all, err := layout.Write(filepath.Join(*out, "oci"), empty.Index)
	if err != nil {
		return err
	}
	for _, arg := range flags.Args() {
		platform, path, _ := strings.Cut(arg, "=")
		p, err := v1.ParsePlatform(platform)
		if err != nil {
			return err
		}
		img, err := image(path, *version, *p)
		if err != nil {
			return err
		}
		if err := all.AppendImage(img, layout.WithPlatform(*p)); err != nil {
			return err
		}
		file := filepath.Join(*out, fmt.Sprintf("tocsin-%s-%s.tar", p.OS, p.Architecture))
		if err := tarball.WriteToFile(file, tag, img); err != nil {
			return err
		}
	}
	return nil
}

// image returns an image that contains only a binary, a folder for its data and one for temporary
// files.
func image(path, version string, p v1.Platform) (v1.Image, error) {
	binary, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var files bytes.Buffer
	if err := writeFiles(&files, binary); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files.Bytes())), nil })
	if err != nil {
		return nil, err
	}
	base, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{
		OS: p.OS, Architecture: p.Architecture,
		RootFS: v1.RootFS{Type: "layers"},
		Config: v1.Config{
			User:         fmt.Sprintf("%d:%d", user, user),
			WorkingDir:   "/" + home,
			Env:          []string{"PATH=/usr/local/bin", "HOME=/" + home, "TOCSIN_DATABASE_URL=sqlite:/" + home + "/tocsin.db", "SQLITE_TMPDIR=/" + home, "TOCSIN_LISTEN=:8080"},
			Entrypoint:   []string{"/usr/local/bin/tocsin"},
			Cmd:          []string{"serve"},
			ExposedPorts: map[string]struct{}{"8080/tcp": {}},
			Volumes:      map[string]struct{}{"/" + home: {}},
			Healthcheck: &v1.HealthConfig{
				Test: []string{"CMD", "/usr/local/bin/tocsin", "healthcheck"}, Interval: 10 * time.Second, Timeout: 5 * time.Second, StartPeriod: 30 * time.Second,
			},
			Labels: map[string]string{
				"org.opencontainers.image.title":   "Tocsin",
				"org.opencontainers.image.version": version,
			},
		},
	})
	if err != nil {
		return nil, err
	}
	return mutate.AppendLayers(base, layer)
}

// writeFiles writes the files of an image as a tar archive. All times are equal, so that the
// archive is reproducible.
func writeFiles(out io.Writer, binary []byte) error {
	w := tar.NewWriter(out)
	for _, h := range []tar.Header{
		{Name: "tmp/", Mode: 0o1777},
		{Name: "usr/", Mode: 0o755},
		{Name: "usr/local/", Mode: 0o755},
		{Name: "usr/local/bin/", Mode: 0o755},
		{Name: "usr/local/bin/tocsin", Mode: 0o755, Typeflag: tar.TypeReg, Size: int64(len(binary))},
		{Name: "var/", Mode: 0o755},
		{Name: "var/lib/", Mode: 0o755},
		{Name: home + "/", Mode: 0o700, Uid: user, Gid: user},
	} {
		h.ModTime = time.Unix(0, 0)
		if h.Typeflag == 0 {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(&h); err != nil {
			return err
		}
		if h.Size > 0 {
			if _, err := w.Write(binary); err != nil {
				return err
			}
		}
	}
	return w.Close()
}
