package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../../.."

// Every link of every document in a package or an archive leads to a file that is there
// too, or to the repository at the version of the release.
func TestShippedLinksResolve(t *testing.T) {
	dir := t.TempDir()
	if err := run(root, dir, "1.2.0"); err != nil {
		t.Fatal(err)
	}
	beside, away := 0, 0
	for name, others := range map[string]string{"package": "copyright", "archive": "LICENSE"} {
		list := written(t, filepath.Join(dir, name))
		for _, file := range list {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range link.FindAllStringSubmatch(string(text), -1) {
				target, _, _ := strings.Cut(m[2], "#")
				in, isOurs := cutOurs(target)
				switch {
				case target == "" || strings.Contains(target, ":") && !isOurs:
				case isOurs:
					away++
					if _, err := os.Stat(filepath.Join(root, in)); err != nil {
						t.Errorf("%s of the %s: %s: %v", filepath.Base(file), name, target, err)
					}
				case filepath.Base(target) == others:
				default:
					beside++
					if _, err := os.Stat(filepath.Join(filepath.Dir(file), target)); err != nil {
						t.Errorf("%s of the %s: %s: %v", filepath.Base(file), name, target, err)
					}
				}
			}
		}
	}
	if beside < 100 || away < 50 {
		t.Errorf("%d links to files beside, %d to the repository: the test sees too little", beside, away)
	}
}

// written returns the documents in a folder and in all folders within it.
func written(t *testing.T, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(file) == ".md" {
			files = append(files, file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// cutOurs returns the file of the repository that a link of version 1.2.0 leads to.
func cutOurs(target string) (file string, is bool) {
	for _, begin := range []string{repository + "/blob/v1.2.0/", repository + "/tree/v1.2.0/", raw + "/v1.2.0/"} {
		if file, is = strings.CutPrefix(target, begin); is {
			return file, true
		}
	}
	return "", false
}

// A build that is no release has no tag, so its documents link to the main branch.
func TestVersionOfLinks(t *testing.T) {
	for version, want := range map[string]string{"1.2.0": "v1.2.0", "1.2.0-rc.1": "v1.2.0-rc.1", "0.1.0-dev.1700000000": "main", "(devel)": "main"} {
		c := collection{"docs/a.md": "a.md", "CHANGELOG.md": "CHANGELOG.md"}
		if made, err := (collection{"docs/howto/b.md": "howto/b.md", "CHANGELOG.md": "CHANGELOG.md"}).resolve(root, "docs/howto/b.md", want, "[x](../../CHANGELOG.md#top)"); err != nil || made != "[x](../CHANGELOG.md#top)" {
			t.Errorf("from a folder: %s, %v", made, err)
		}
		got, err := c.resolve(root, "docs/a.md", want, "[x](../examples/README.md#top) ![y](images/scale.svg) [z](../CHANGELOG.md) [w](../examples) [v](#here) [u](https://example.org/)")
		if err != nil {
			t.Fatal(err)
		}
		if ref := refOf(version); ref != want {
			t.Errorf("%s has the links of %s, want %s", version, ref, want)
		}
		if made := "[x](" + repository + "/blob/" + want + "/examples/README.md#top) ![y](" + raw + "/" + want + "/docs/images/scale.svg) [z](CHANGELOG.md) [w](" + repository + "/tree/" + want + "/examples) [v](#here) [u](https://example.org/)"; got != made {
			t.Errorf("%s: %s, want %s", version, got, made)
		}
	}
	if _, err := (collection{}).resolve(root, "docs/a.md", "main", "[x](none.md)"); err == nil || !strings.Contains(err.Error(), "none.md leads nowhere") {
		t.Error(err)
	}
}

// The release takes each document from what this command writes.
func TestReleaseShipsTheseDocuments(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, ".goreleaser.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	from := regexp.MustCompile(`src: (\S+\.md)\b`).FindAllStringSubmatch(string(text), -1)
	if len(from) < 2 {
		t.Fatalf("the release has the documents %q: the test sees too little", from)
	}
	dir := t.TempDir()
	if err := run(root, dir, "1.2.0"); err != nil {
		t.Fatal(err)
	}
	for _, file := range written(t, filepath.Join(dir, "package")) {
		folder, err := filepath.Rel(dir, filepath.Dir(file))
		if err != nil {
			t.Fatal(err)
		}
		installed := strings.TrimPrefix(folder+"/", "package/")
		if want := "{src: packaging/built/docs/" + folder + "/*.md, dst: /usr/share/doc/sotto/" + installed + ","; !strings.Contains(string(text), want) {
			t.Errorf("the package lacks %s: %s", folder, want)
		}
	}
	for _, m := range from {
		if !strings.HasPrefix(m[1], "packaging/built/docs/") {
			t.Errorf("%s is shipped with links that may lead nowhere", m[1])
		}
	}
}
