// Command sbom writes the bill of materials of a Go program: CycloneDX in JSON, made
// from the build information that the program holds.
//
//	sbom BINARY >sotto.cdx.json
//
// The components are the modules that are linked, and the standard library. Build
// information has no times and no licenses, and so has the bill: the same program gives
// the same bytes.
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"fmt"
	"io"
	"net/url"
	"os"
	"path"
	"runtime/debug"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: sbom BINARY")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(binary string, out io.Writer) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	sum, err := hashOf(binary)
	if err != nil {
		return err
	}
	return cdx.NewBOMEncoder(out, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bill(info, sum), cdx.SpecVersion1_6)
}

func hashOf(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// bill is the bill of materials of a program with this SHA-256.
func bill(info *debug.BuildInfo, sum string) *cdx.BOM {
	main := component(&info.Main)
	main.Type = cdx.ComponentTypeApplication
	main.Name = path.Base(info.Path)
	main.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: sum}}
	main.Properties = settings(info)

	parts := []cdx.Component{standardLibrary(info.GoVersion)}
	for _, m := range info.Deps {
		parts = append(parts, component(m))
	}
	var refs []string
	for _, p := range parts {
		refs = append(refs, p.BOMRef)
	}
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{
		Component:  &main,
		Properties: &[]cdx.Property{{Name: "cdx:reproducible", Value: "true"}},
	}
	bom.Components = &parts
	bom.Dependencies = &[]cdx.Dependency{{Ref: main.BOMRef, Dependencies: &refs}}
	return bom
}

// component is the module that was linked: the replacement, where there is one.
func component(m *debug.Module) cdx.Component {
	var properties []cdx.Property
	if m.Replace != nil {
		properties = append(properties, cdx.Property{Name: "sotto:replaces", Value: m.Path + "@" + m.Version})
		m = m.Replace
	}
	if m.Sum != "" { // of the files of the module, as go.sum has it: not the hash of an archive
		properties = append(properties, cdx.Property{Name: "sotto:go.sum", Value: m.Sum})
	}
	c := cdx.Component{
		Type:       cdx.ComponentTypeLibrary,
		Name:       m.Path,
		Version:    m.Version,
		PackageURL: packageURL(m.Path, m.Version),
	}
	c.BOMRef = c.PackageURL
	if properties != nil {
		c.Properties = &properties
	}
	return c
}

// standardLibrary has a version without "go", as the databases of vulnerabilities do.
func standardLibrary(goVersion string) cdx.Component {
	version, _, _ := strings.Cut(strings.TrimPrefix(goVersion, "go"), " ")
	return component(&debug.Module{Path: "std", Version: version})
}

func packageURL(path, version string) string {
	return "pkg:golang/" + path + "@" + url.QueryEscape(version)
}

// settings are the platform and the commit of a build, by the names that CycloneDX has
// registered for Go where it has.
func settings(info *debug.BuildInfo) *[]cdx.Property {
	list := []cdx.Property{{Name: "cdx:gomod:build:env:GOVERSION", Value: info.GoVersion}}
	for _, s := range info.Settings {
		switch s.Key {
		case "GOOS", "GOARCH", "CGO_ENABLED":
			list = append(list, cdx.Property{Name: "cdx:gomod:build:env:" + s.Key, Value: s.Value})
		case "vcs.revision", "vcs.time", "vcs.modified":
			list = append(list, cdx.Property{Name: "sotto:" + s.Key, Value: s.Value})
		}
	}
	return &list
}
