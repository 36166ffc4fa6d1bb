// Command release builds container images from static binaries, and writes the SBOM of a binary.
//
//	release image -version V -out FOLDER linux/amd64=FILE linux/arm64=FILE
//	release sbom FILE > FILE.cdx.json
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	switch {
	case len(args) > 1 && args[0] == "image":
		return writeImages(args[1:])
	case len(args) == 2 && args[0] == "sbom":
		return writeSBOM(out, args[1])
	}
	return errors.New("usage: release image -version V -out FOLDER OS/ARCH=FILE ... | release sbom FILE")
}
