// Package recordset reads several records as one: those of a folder with one record
// for each process that wrote, such as the workers of a study.
package recordset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/net/objects"
	"github.com/sotto-llm/sotto/internal/recorded/recording"
	"github.com/sotto-llm/sotto/internal/recorded/recordship"
	"github.com/sotto-llm/sotto/internal/recorded/sidecar"
	"github.com/sotto-llm/sotto/record"
)

// Below is the folder that holds the records of a study.
const Below = "records"

const (
	// maxRecords bounds the records of a set. Each has an open file and an event in
	// memory while the set is read.
	maxRecords = 512
	// maxFolders bounds the folders that are looked into.
	maxFolders = 8192
)

// A Source is one record of a set.
type Source struct {
	// Name is the last element of Dir, or Dir if another record has the same name.
	Name string
	Dir  string
	// Store reads the record with the sidecars.
	Store *sidecar.Store
	// Copy says where the record is, if Dir is a copy of one in object storage.
	Copy *recordship.Copy

	several bool // the set has other records too
}

// Err says in an error which record it is about, if the set has several.
func (s *Source) Err(err error) error {
	if err == nil || !s.several {
		return err
	}
	return fmt.Errorf("%s: %w", s.Name, err)
}

// Reader returns the reader of the record. All of a record that is in object storage is copied
// first.
func (s *Source) Reader() (*record.Reader, error) { return s.Store.Whole() }

// where is the folder of the record, or its address in object storage.
func (s *Source) where() string {
	if s.Copy != nil {
		return s.Copy.URL
	}
	return s.Dir
}

// A Set is one record, or several that are read as one.
type Set struct {
	dir     string
	sources []*Source
}

// Open opens a record, or the records of a folder: those of its direct children that
// are records, or else those in its folder "records"; or those below a prefix of
// object storage, s3://BUCKET/PREFIX, of which it copies what is read.
func Open(dir string, o record.ReadOptions) (*Set, error) { return OpenAll([]string{dir}, o) }

// OpenAll opens the records of several folders, each as Open does. Records of the
// same name are named by their folders.
func OpenAll(from []string, o record.ReadOptions) (*Set, error) { return open(from, o, false) }

// OpenAgain is Open, but copies all of a record in object storage, also what there are copies
// of.
func OpenAgain(dir string, o record.ReadOptions) (*Set, error) { return open([]string{dir}, o, true) }

func open(from []string, o record.ReadOptions, again bool) (*Set, error) {
	var dirs []string
	copies := map[string]*recordship.Copy{}
	for _, dir := range from {
		look := find
		if objects.Is(dir) {
			look = func(at string) ([]string, error) { return bring(at, again, copies) }
		}
		list, err := look(dir)
		if err != nil {
			return nil, err
		}
		dirs = append(dirs, list...)
	}
	if len(dirs) > maxRecords {
		return nil, tooMany(strings.Join(from, ", "), len(dirs))
	}
	named := map[string]int{}
	for _, d := range dirs {
		named[baseName(d)]++
	}
	set := &Set{dir: strings.Join(from, ", ")}
	for _, d := range dirs {
		s := &Source{Name: baseName(d), Dir: d, Copy: copies[d], several: len(dirs) > 1}
		if named[s.Name] > 1 {
			s.Name = filepath.ToSlash(filepath.Clean(d))
		}
		if slices.ContainsFunc(set.sources, func(x *Source) bool { return x.Name == s.Name }) {
			return nil, errorhint.Usage(fmt.Errorf("%s is named twice", d), "")
		}
		var away sidecar.Away
		if s.Copy != nil {
			away = s.Copy.Away
		}
		var err error
		if s.Store, err = sidecar.OpenAway(d, o, away); err != nil {
			return nil, s.Err(err)
		}
		set.sources = append(set.sources, s)
	}
	return set, nil
}

// bring opens the records below a prefix of object storage.
func bring(text string, again bool, copies map[string]*recordship.Copy) (dirs []string, err error) {
	at, err := objects.Parse(text)
	if err != nil {
		return nil, err
	}
	folder, err := recordship.Folder(at, os.Getenv)
	if err != nil {
		return nil, err
	}
	var list []*recordship.Copy
	if again {
		list, err = recordship.Copies(context.Background(), at, folder, true, objects.Options{})
	} else {
		list, err = recordship.Reach(context.Background(), at, folder, objects.Options{})
	}
	if err != nil {
		return nil, err
	}
	for _, c := range list {
		dirs = append(dirs, c.Dir)
		copies[c.Dir] = c
	}
	return dirs, nil
}

func tooMany(where string, n int) error {
	return errorhint.Add(fmt.Errorf("%s holds %d records, %d at most can be read as one", where, n, maxRecords), "read them one at a time, or in folders of their own")
}

// baseName returns the last element of a path, also of "." and "..".
func baseName(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	return filepath.Base(dir)
}

// find returns the folders of the records, in the order of their names.
func find(dir string) ([]string, error) {
	if ok, err := recording.HasEvents(dir); ok || err != nil {
		return []string{dir}, err
	}
	for _, parent := range []string{dir, filepath.Join(dir, Below)} {
		list, err := below(parent)
		if err != nil {
			return nil, err
		}
		if len(list) > 0 {
			return list, nil
		}
	}
	// A record that nothing was written to yet has only a lock.
	err := recording.CheckFolder(dir)
	if err != nil {
		err = errorhint.Add(fmt.Errorf("%s is not a record, and holds none", dir), "want the folder of a record, or one whose folders, or those of its folder records, are records; sotto serve, extract, score, solve and run write records, with --record DIR")
	}
	return []string{dir}, err
}

// below returns the children of a folder that are records. It follows no links,
// which could lead out of the folder.
func below(parent string) (list []string, err error) {
	d, err := os.Open(parent)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", parent, files.Cause(err))
	}
	defer d.Close()
	for folders := 0; ; {
		entries, err := d.ReadDir(256)
		for _, e := range entries {
			if !e.IsDir() {
				continue
			}
			if folders++; folders > maxFolders {
				return nil, fmt.Errorf("%s holds more than %d folders: too many to look for records in", parent, maxFolders)
			}
			child := filepath.Join(parent, e.Name())
			if recording.CheckFolder(child) == nil {
				list = append(list, child)
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", parent, files.Cause(err))
		}
	}
	if len(list) > maxRecords {
		return nil, tooMany(parent, len(list))
	}
	slices.Sort(list)
	return list, nil
}

// Sources returns the records of the set: folder by folder, and in each in the order
// of their names.
func (s *Set) Sources() []*Source { return s.sources }

// Several reports whether the set has more than one record. A number of an event
// then names an event only together with a record.
func (s *Set) Several() bool { return len(s.sources) > 1 }

// Only returns the record of a set that has no other. what is what needs one record.
func (s *Set) Only(what string) (*Source, error) {
	if s.Several() {
		return nil, errorhint.Usage(fmt.Errorf("%s holds %d records, and %s needs one", s.dir, len(s.sources), what), "name one: "+s.sources[0].where())
	}
	return s.sources[0], nil
}

// Named returns the record with a name.
func (s *Set) Named(name string) (*Source, error) {
	i := slices.IndexFunc(s.sources, func(x *Source) bool { return x.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("%s holds no record %q; the first is %q", s.dir, name, s.sources[0].Name)
	}
	return s.sources[i], nil
}
