package shards

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/sotto-llm/sotto/internal/net/objects"
)

// A Place is the name of a file and the folder that has it.
type Place struct {
	Folder Folder
	Name   string
}

// Manifests returns the manifests of the given names: files, patterns, and folders that hold
// them.
func (s *Sources) Manifests(ctx context.Context, names []string) ([]Place, error) {
	var places []Place
	for _, name := range names {
		if info, err := os.Stat(name); err == nil && info.IsDir() {
			name = filepath.Join(name, "part-*"+ManifestEnd)
		} else if objects.Is(name) && !strings.HasSuffix(name, ManifestEnd) {
			name = strings.TrimSuffix(name, "/") + "/part-*" + ManifestEnd
		}
		list, err := s.List(ctx, []string{name})
		if err != nil {
			return nil, err
		}
		for _, in := range list {
			p, err := s.place(ctx, in.Name)
			if err != nil {
				return nil, err
			}
			places = append(places, p)
		}
	}
	return places, nil
}

// place returns where a file is.
func (s *Sources) place(ctx context.Context, name string) (Place, error) {
	if !objects.Is(name) {
		return Place{Local(filepath.Dir(name)), filepath.Base(name)}, nil
	}
	b, key, err := s.Bucket(ctx, name)
	cut := strings.LastIndexByte(key, '/') + 1
	return Place{&remote{b, key[:cut]}, key[cut:]}, err
}
