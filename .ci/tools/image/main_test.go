package main

import (
	"archive/tar"
	"bytes"
	"crypto/x509"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// made writes an image of two programs, and returns its bytes.
func made(t *testing.T, tags ...string) (data []byte, digest string) {
	t.Helper()
	dir := t.TempDir()
	var builds []build
	for _, arch := range []string{"amd64", "arm64"} {
		name := filepath.Join(dir, arch)
		if err := os.WriteFile(name, []byte("program for "+arch), 0o600); err != nil {
			t.Fatal(err)
		}
		builds = append(builds, build{arch, name})
	}
	out := filepath.Join(dir, "image.tar")
	d := description{program: "sotto", version: "1.2.0", commit: "0123456789ab", license: builds[0].file, time: time.Unix(1e9, 0).UTC(), tags: tags}
	digest, err := write(out, d, builds)
	if err != nil {
		t.Fatal(err)
	}
	if data, err = os.ReadFile(out); err != nil {
		t.Fatal(err)
	}
	return data, digest
}

// opened unpacks an image, and returns the index of its architectures.
func opened(t *testing.T, data []byte, digest string) v1.ImageIndex {
	t.Helper()
	root, err := layout.ImageIndexFromPath(unpacked(t, data))
	if err != nil {
		t.Fatal(err)
	}
	hash, err := v1.NewHash(digest)
	if err != nil {
		t.Fatal(err)
	}
	index, err := root.ImageIndex(hash)
	if err != nil {
		t.Fatal(err)
	}
	return index
}

// Each tag of an image names the same index.
func TestTags(t *testing.T) {
	for _, tags := range [][]string{nil, {"1.2.0", "1.2.0-full"}} {
		data, digest := made(t, tags...)
		root, err := layout.ImageIndexFromPath(unpacked(t, data))
		if err != nil {
			t.Fatal(err)
		}
		manifest, err := root.IndexManifest()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range manifest.Manifests {
			got = append(got, m.Annotations["org.opencontainers.image.ref.name"])
			if m.Digest.String() != digest {
				t.Errorf("%s is %s, want %s", got[len(got)-1], m.Digest, digest)
			}
		}
		want := tags
		if want == nil {
			want = []string{"1.2.0"}
		}
		if !slices.Equal(got, want) {
			t.Errorf("tags %q, want %q", got, want)
		}
	}
}

func TestSameBytes(t *testing.T) {
	one, first := made(t)
	two, second := made(t)
	if !bytes.Equal(one, two) || first != second {
		t.Errorf("two images of the same programs differ: %s, %s", first, second)
	}
}

func TestImage(t *testing.T) {
	data, digest := made(t)
	index := opened(t, data, digest)
	if err := validate.Index(index); err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(manifest.Manifests) != 2 {
		t.Fatalf("the index has %d images, want 2", len(manifest.Manifests))
	}
	for _, m := range manifest.Manifests {
		img, err := index.Image(m.Digest)
		if err != nil {
			t.Fatal(err)
		}
		file, err := img.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if file.Architecture != m.Platform.Architecture || file.Config.User != "65532:65532" {
			t.Errorf("the image for %s is for %s and runs as %s", m.Platform, file.Architecture, file.Config.User)
		}
		if h := file.Config.Healthcheck; h == nil || !slices.Equal(h.Test, []string{"CMD", "/usr/bin/sotto", "health"}) {
			t.Errorf("the image for %s has the health check %v", m.Platform, h)
		}
		checkFiles(t, img, m.Platform.Architecture)
	}
}

// checkFiles compares the files of an image with the list of all that it may have.
func checkFiles(t *testing.T, img v1.Image, arch string) {
	t.Helper()
	layers, err := img.Layers()
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, l := range layers {
		r, err := l.Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		for header, text := range entries(t, r) {
			if header.Typeflag == tar.TypeReg {
				files = append(files, header.Name)
			}
			switch header.Name {
			case "usr/bin/sotto":
				if header.Mode != 0o755 || string(text) != "program for "+arch {
					t.Errorf("the program for %s has mode %o and holds %q", arch, header.Mode, text)
				}
			case "data/":
				if header.Uid != user || header.Mode != 0o700 {
					t.Errorf("the folder for data belongs to %d and has mode %o", header.Uid, header.Mode)
				}
			case "etc/ssl/certs/ca-certificates.crt":
				checkAuthorities(t, text)
			}
			if header.Mode&0o6022 != 0 || !header.ModTime.Equal(time.Unix(1e9, 0)) {
				t.Errorf("%s has mode %o and time %s", header.Name, header.Mode, header.ModTime)
			}
		}
	}
	want := []string{"etc/group", "etc/passwd", "etc/ssl/certs/ca-certificates.crt", "usr/share/doc/sotto/copyright", "usr/bin/sotto"}
	if !slices.Equal(files, want) {
		t.Errorf("the files are %s", strings.Join(files, ", "))
	}
}

func checkAuthorities(t *testing.T, text []byte) {
	t.Helper()
	if blocks := bytes.Count(text, []byte("BEGIN CERTIFICATE")); blocks < 50 {
		t.Errorf("there are %d authorities, want the whole list", blocks)
	}
	if !x509.NewCertPool().AppendCertsFromPEM(text) {
		t.Error("no certificate can be read")
	}
}

func TestArguments(t *testing.T) {
	for _, args := range [][]string{nil, {"amd64"}} {
		if list, err := parseBuilds(args); err == nil {
			t.Errorf("%q are the programs %v", args, list)
		}
	}
	if _, err := write(filepath.Join(t.TempDir(), "out"), description{}, []build{{"amd64", "missing"}}); err == nil {
		t.Error("an image has a program that does not exist")
	}
}

// entries are those of a tar file.
func entries(t *testing.T, r io.Reader) func(func(*tar.Header, []byte) bool) {
	return func(yield func(*tar.Header, []byte) bool) {
		for files := tar.NewReader(r); ; {
			header, err := files.Next()
			if err == io.EOF {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(files)
			if err != nil {
				t.Fatal(err)
			}
			if !yield(header, text) {
				return
			}
		}
	}
}

// unpacked writes the regular files of a tar file into a folder.
func unpacked(t *testing.T, data []byte) string {
	dir := t.TempDir()
	for header, text := range entries(t, bytes.NewReader(data)) {
		name := filepath.Join(dir, header.Name)
		if header.Typeflag != tar.TypeReg {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
