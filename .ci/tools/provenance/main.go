// Command provenance writes where the files of a release come from: an in-toto statement
// with a provenance of SLSA, version 1, which names the commit, and the SHA-256 of each file.
//
//	provenance -version 1.2.0 -ref refs/tags/v1.2.0 -commit HASH DIST >sotto_1.2.0.intoto.json
//
// The subjects are the archives and packages in DIST, and the programs in its folders, from
// which images are made. It has no times: the same commit gives the same bytes.
// The formats are described at https://in-toto.io/Statement/v1 and https://slsa.dev/provenance/v1.
package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"runtime"
)

const (
	repository = "https://github.com/sotto-llm/sotto"
	buildType  = repository + "/blob/main/docs/release.md#how-the-files-are-built"
	builder    = repository + "/blob/main/docs/release.md#who-builds"
)

type digest map[string]string

type resource struct {
	Name   string `json:"name,omitempty"`
	URI    string `json:"uri,omitempty"`
	Digest digest `json:"digest"`
}

type statement struct {
	Type          string     `json:"_type"`
	Subject       []resource `json:"subject"`
	PredicateType string     `json:"predicateType"`
	Predicate     predicate  `json:"predicate"`
}

type predicate struct {
	BuildDefinition struct {
		BuildType          string            `json:"buildType"`
		ExternalParameters map[string]string `json:"externalParameters"`
		InternalParameters map[string]string `json:"internalParameters"`
		Dependencies       []resource        `json:"resolvedDependencies"`
	} `json:"buildDefinition"`
	RunDetails struct {
		Builder struct {
			ID string `json:"id"`
		} `json:"builder"`
	} `json:"runDetails"`
}

func main() {
	version := flag.String("version", "", "of the release, without v")
	ref := flag.String("ref", "", "what was built, such as refs/tags/v1.2.0")
	commit := flag.String("commit", "", "its hash")
	flag.Parse()
	if err := run(os.Stdout, *version, *ref, *commit, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "provenance:", err)
		os.Exit(1)
	}
}

var (
	hash    = regexp.MustCompile(`^[0-9a-f]{40}([0-9a-f]{24})?$`)
	shipped = regexp.MustCompile(`^sotto[-_].*\.(tar\.gz|zip|deb|rpm|apk)$`)
	program = regexp.MustCompile(`^sotto(-gateway)?_[^/]+/sotto(-gateway)?(\.exe)?$`)
)

func run(out io.Writer, version, ref, commit, dir string) error {
	if version == "" || ref == "" || !hash.MatchString(commit) || dir == "" {
		return errors.New("usage: provenance -version V -ref REF -commit HASH DIST")
	}
	s := statement{Type: "https://in-toto.io/Statement/v1", PredicateType: "https://slsa.dev/provenance/v1"}
	files := os.DirFS(dir)
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || !shipped.MatchString(name) && !program.MatchString(name) {
			return err
		}
		sum, err := sumOf(files, name)
		s.Subject = append(s.Subject, resource{Name: path.Clean(name), Digest: digest{"sha256": sum}})
		return err
	})
	if err != nil {
		return err
	}
	if len(s.Subject) == 0 {
		return fmt.Errorf("%s has no archive, package or program", dir)
	}
	b := &s.Predicate.BuildDefinition
	b.BuildType = buildType
	b.ExternalParameters = map[string]string{"source": "git+" + repository, "ref": ref, "version": version}
	b.InternalParameters = map[string]string{"go": runtime.Version()}
	b.Dependencies = []resource{{URI: "git+" + repository + "@" + ref, Digest: digest{"gitCommit": commit}}}
	s.Predicate.RunDetails.Builder.ID = builder
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(s)
}

func sumOf(files fs.FS, name string) (string, error) {
	f, err := files.Open(name)
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
