package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/sotto-llm/sotto/_benchmark/internal/results"
)

// errNoBase says that this clone does not have the commit to compare with.
var errNoBase = errors.New("the history of this clone does not have it")

// A tree is a state of the repository, and what was built of it.
type tree struct {
	name  string // BASE or HEAD
	dir   string
	probe string
	sotto string // empty in a short run
}

// git runs git in the repository, and returns what it prints.
func git(root string, args ...string) (string, error) {
	cmd := exec.Command("git", append([]string{"-C", root}, args...)...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, said.String())
	}
	return strings.TrimSpace(string(out)), nil
}

// baseOf returns the commit of a reference. If ref is empty, it is the one that the figures
// of docs/performance.md are measured at.
func baseOf(root, ref string) (string, error) {
	if ref == "" {
		run, err := results.Load(filepath.Join(root, results.File))
		if err != nil {
			return "", err
		}
		ref = run.Commit
	}
	commit, err := git(root, "rev-parse", "--verify", "--quiet", ref+"^{commit}")
	if err != nil {
		return "", fmt.Errorf("commit %s: %w. In a shallow clone, fetch the rest first: git fetch --unshallow. "+
			"Or name a commit that is there: -base REF", ref, errNoBase)
	}
	return commit, nil
}

// checkOut writes the files of a commit into a folder.
func checkOut(root, commit, dir string) error {
	archive := exec.Command("git", "-C", root, "archive", commit)
	extract := exec.Command("tar", "-x", "-C", dir)
	var said bytes.Buffer
	archive.Stderr, extract.Stderr = &said, &said
	var err error
	if extract.Stdin, err = archive.StdoutPipe(); err != nil {
		return err
	}
	if err := extract.Start(); err != nil {
		return err
	}
	if err := errors.Join(archive.Run(), extract.Wait()); err != nil {
		return fmt.Errorf("checking out %s: %w: %s", commit, err, said.String())
	}
	return nil
}

// build builds the probe and, if whole, the command of a tree. The probe's source is laid
// over the tree, so that it is compiled with the tree's own requirements. The flags are those
// of .ci/size: what it has compiled is not compiled again.
func (t *tree) build(root, to string, whole bool) error {
	const name = "guardprobe"
	overlay := filepath.Join(to, t.name+".json")
	source := filepath.Join(root, "_benchmark", "guard", "probe", "main.go")
	data, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(t.dir, "cmd", name, "main.go"): source}})
	if err != nil {
		return err
	}
	if err := os.WriteFile(overlay, data, 0o600); err != nil {
		return err
	}
	bin := filepath.Join(to, t.name)
	if err := os.Mkdir(bin, 0o700); err != nil {
		return err
	}
	args := []string{"build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-overlay", overlay, "-o", bin, "./cmd/" + name}
	t.probe = filepath.Join(bin, name)
	if whole {
		args, t.sotto = append(args, "./cmd/sotto"), filepath.Join(bin, "sotto")
	}
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env = t.dir, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s: %w\n%s", t.name, err, out)
	}
	return nil
}
