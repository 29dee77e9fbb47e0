package main

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// baseFiles are those beside the program. There is no /tmp, because the program works
// on a root that nobody may write to.
func (d description) baseFiles(w io.Writer) error {
	license, err := os.ReadFile(d.license)
	if err != nil {
		return err
	}
	t := archive{tar.NewWriter(w), d.time}
	t.folder("etc", 0o755, 0)
	t.file("etc/group", fmt.Appendf(nil, "root:x:0:\nsotto:x:%d:\n", user), 0o644)
	t.file("etc/passwd", fmt.Appendf(nil, "root:x:0:0:root:/:/sbin/nologin\nsotto:x:%d:%d:sotto:/data:/sbin/nologin\n", user, user), 0o644)
	t.folder("etc/ssl", 0o755, 0)
	t.folder("etc/ssl/certs", 0o755, 0)
	t.file("etc/ssl/certs/ca-certificates.crt", authorities(), 0o644)
	t.folder("usr", 0o755, 0)
	t.folder("usr/share", 0o755, 0)
	t.folder("usr/share/doc", 0o755, 0)
	t.folder("usr/share/doc/sotto", 0o755, 0)
	t.file("usr/share/doc/sotto/copyright", license, 0o644)
	t.folder("data", 0o700, user)
	return t.Close()
}

func (d description) programFile(w io.Writer, file string) error {
	program, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	t := archive{tar.NewWriter(w), d.time}
	t.folder("usr", 0o755, 0)
	t.folder("usr/bin", 0o755, 0)
	t.file("usr/bin/"+d.program, program, 0o755)
	return t.Close()
}

// authorities are those of Mozilla's root store that have no constraint: a file of PEM
// blocks cannot say one. The go.mod beside this file has their version.
func authorities() []byte {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})
		}
	}
	return out.Bytes()
}

// An archive is a tar file in which every entry has one time. The writer keeps the first
// error for Close.
type archive struct {
	*tar.Writer
	time time.Time
}

func (t archive) folder(name string, mode int64, owner int) {
	t.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: mode, Uid: owner, Gid: owner, ModTime: t.time, Format: tar.FormatPAX})
}

func (t archive) file(name string, data []byte, mode int64) {
	t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: int64(len(data)), ModTime: t.time, Format: tar.FormatPAX})
	t.Write(data)
}

// writeLayout writes a folder with the index, once for each tag.
func writeLayout(dir string, tags []string, index v1.ImageIndex) error {
	path, err := layout.Write(dir, mutate.AppendManifests(empty.Index))
	if err != nil {
		return err
	}
	for _, tag := range tags {
		if err := path.AppendIndex(index, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": tag})); err != nil {
			return err
		}
	}
	return nil
}

// tarFolder packs a folder. The files are in the order of their names.
func tarFolder(out, dir string, at time.Time) (err error) {
	f, err := os.Create(out)
	if err != nil {
		return err
	}
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
	}()
	t := archive{tar.NewWriter(f), at}
	err = filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || name == dir {
			return err
		}
		inside, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			t.folder(filepath.ToSlash(inside), 0o755, 0)
			return nil
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		t.file(filepath.ToSlash(inside), data, 0o644)
		return nil
	})
	if err != nil {
		return err
	}
	return t.Close()
}
