package main

import (
	"debug/buildinfo"
	"io"
	"runtime/debug"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// writeSBOM writes the modules that a Go binary was built from as a CycloneDX document.
func writeSBOM(out io.Writer, path string) error {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return err
	}
	parts := []cdx.Component{{Type: cdx.ComponentTypePlatform, Name: "go", Version: info.GoVersion, BOMRef: "go"}}
	refs := []string{"go"}
	for _, m := range info.Deps {
		part := component(m, cdx.ComponentTypeLibrary)
		parts = append(parts, part)
		refs = append(refs, part.BOMRef)
	}
	main := component(&info.Main, cdx.ComponentTypeApplication)
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Component: &main}
	bom.Components = &parts
	bom.Dependencies = &[]cdx.Dependency{{Ref: main.BOMRef, Dependencies: &refs}}
	return cdx.NewBOMEncoder(out, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
}

func component(m *debug.Module, kind cdx.ComponentType) cdx.Component {
	if m.Replace != nil {
		m = m.Replace
	}
	url := "pkg:golang/" + m.Path + "@" + m.Version
	return cdx.Component{Type: kind, Name: m.Path, Version: m.Version, PackageURL: url, BOMRef: url}
}
