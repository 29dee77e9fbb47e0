package main

import (
	"fmt"
	"io"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// user is the one that distroless images call nonroot. It owns the folder for data.
const user = 65532

// A description is what the metadata of the image says.
type description struct {
	program         string // its name
	version, commit string
	tags            []string // of the image; if empty, the version
	license         string   // a file
	time            time.Time
}

// index lists one image for each architecture.
func (d description) index(builds []build) (v1.ImageIndex, error) {
	base, err := layer(d.baseFiles)
	if err != nil {
		return nil, err
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, b := range builds {
		img, err := d.image(base, b)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", b.arch, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add:        img,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: b.arch}},
		})
	}
	return mutate.Annotations(index, d.annotations()).(v1.ImageIndex), nil
}

// image has two layers. That of the files beside the program is common to the
// architectures, and to versions with the same certificates and time.
func (d description) image(base v1.Layer, b build) (v1.Image, error) {
	program, err := layer(func(w io.Writer) error { return d.programFile(w, b.file) })
	if err != nil {
		return nil, err
	}
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	created := v1.Time{Time: d.time}
	for _, l := range []struct {
		v1.Layer
		what string
	}{{base, "certificates, the user and the folder for data"}, {program, "the program"}} {
		if img, err = mutate.Append(img, mutate.Addendum{Layer: l.Layer, History: v1.History{Created: created, CreatedBy: l.what}}); err != nil {
			return nil, err
		}
	}
	file, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	file.OS, file.Architecture, file.Created = "linux", b.arch, created
	file.Config = v1.Config{
		User:         fmt.Sprintf("%d:%d", user, user),
		Entrypoint:   []string{"/usr/bin/" + d.program},
		Cmd:          []string{"serve"},
		Env:          []string{"PATH=/usr/bin", "SOTTO_LISTEN=:8383", "SOTTO_DATA_DIR=/data"},
		ExposedPorts: map[string]struct{}{"8383/tcp": {}},
		Volumes:      map[string]struct{}{"/data": {}},
		WorkingDir:   "/data",
		Labels:       d.annotations(),
		StopSignal:   "SIGTERM",
		Healthcheck: &v1.HealthConfig{ // Docker and Podman use it, other engines have checks of their own
			Test:        []string{"CMD", "/usr/bin/" + d.program, "health"},
			Interval:    30 * time.Second,
			Timeout:     10 * time.Second,
			StartPeriod: 10 * time.Second,
			Retries:     3,
		},
	}
	if img, err = mutate.ConfigFile(img, file); err != nil {
		return nil, err
	}
	return mutate.Annotations(img, d.annotations()).(v1.Image), nil
}

// annotations have the names that the OCI gives them.
func (d description) annotations() map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":       d.program,
		"org.opencontainers.image.description": "Separates what a language model thinks from what it says",
		"org.opencontainers.image.source":      "https://github.com/sotto-llm/sotto",
		"org.opencontainers.image.licenses":    "Apache-2.0",
		"org.opencontainers.image.version":     d.version,
		"org.opencontainers.image.revision":    d.commit,
		"org.opencontainers.image.created":     d.time.Format(time.RFC3339),
	}
}

// layer compresses what files writes as a tar file.
func layer(files func(io.Writer) error) (v1.Layer, error) {
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		r, w := io.Pipe()
		go func() { w.CloseWithError(files(w)) }()
		return r, nil
	}, tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(9), tarball.WithCompressedCaching)
}
