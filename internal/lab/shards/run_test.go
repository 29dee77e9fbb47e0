package shards

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// begin begins shard 1 of 3 in a folder, with a setting.
func begin(t *testing.T, dir, setting string) (*Run, *Manifest, error) {
	t.Helper()
	job := Job{V: 1, Command: "score", Shard: Shard{1, 3}, Sotto: "v1", Dialects: "d", Settings: map[string]string{"task": setting}, Inputs: Sum([]Input{{"a", 1, "etag x"}})}
	return Begin(t.Context(), job, Local(dir))
}

// do writes a text as the output of a shard.
func do(t *testing.T, dir, text string) (there bool, err error) {
	t.Helper()
	run, done, err := begin(t, dir, "math")
	if err != nil || done != nil {
		return done != nil, err
	}
	fmt.Fprint(run.Out, text)
	return run.End(t.Context(), &Manifest{Records: 1})
}

// TestRunTwice checks what the second of two runs finds: both may be under way at once,
// and either may have been killed at any of its steps.
func TestRunTwice(t *testing.T) {
	dir := t.TempDir()
	late, done, err := begin(t, dir, "math")
	if err != nil || done != nil {
		t.Fatal(done, err)
	}
	fmt.Fprint(late.Out, "text")
	if there, err := do(t, dir, "text"); there || err != nil {
		t.Fatal(there, err)
	}
	if there, err := late.End(t.Context(), &Manifest{Records: 1}); !there || err != nil {
		t.Errorf("the later of two runs at once: %v, %v", there, err)
	}
	if there, err := do(t, dir, "text"); !there || err != nil {
		t.Errorf("a shard that is done: %v, %v", there, err)
	}
	if _, _, err := begin(t, dir, "number"); err == nil || !strings.Contains(err.Error(), `--task is "number", and was "math"`) {
		t.Errorf("another setting: %v", err)
	}
	manifest := filepath.Join(dir, "part-00001-of-00003"+ManifestEnd)
	first, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{manifest, filepath.Join(dir, "part-00001-of-00003"+OutputEnd)} {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
		if _, err := do(t, dir, "text"); err != nil {
			t.Errorf("without %s: %v", name, err)
		}
		if again, err := os.ReadFile(manifest); string(again) != string(first) {
			t.Errorf("the manifest is another: %v\n%s", err, again)
		}
	}
	os.Remove(manifest)
	if _, err := do(t, dir, "other text"); err == nil || !strings.Contains(err.Error(), "exists with other content, and is not replaced") {
		t.Errorf("an output with other content: %v", err)
	}
	if _, err := os.Stat(manifest); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it has a manifest: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".part-*")); len(left) > 0 {
		t.Errorf("drafts are left: %q", left)
	}
}

// TestManifests reads manifests that no shard writes, and a file that is not the one of
// its manifest.
func TestManifests(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{`[]`, "not the manifest"},
		{`{}`, "not the manifest"},
		{`{"v":1,"command":"score","shard":{"index":0,"count":100000}}`, "does not exist"},
		{`{"v":1,"command":"score","shard":{"index":-1,"count":1}}`, "does not exist"},
		{`{"v":1,"command":"score","shard":{"index":0,"count":1},"output":{"name":"../x"}}`, `names the output "../x"`},
		{`{"v":1,"command":"score","shard":{"index":0,"count":1},"output":{"name":"part-00000-of-00001.jsonl"},"groups":{"name":"/etc/passwd"}}`, "names the output"},
		{strings.Repeat("[", 2000), "nests deeper"},
		{`{"v":1`, "not valid JSON"},
	} {
		if m, err := ReadManifest([]byte(test.text)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%.100s: %v, %v, want %s", test.text, m, err, test.want)
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for digest, ok := range map[string]bool{Digest([]byte("text")): true, Digest([]byte("other")): false} {
		r, err := OpenFile(t.Context(), Local(dir), File{Name: "x", Digest: digest})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(r); (err == nil) != ok {
			t.Errorf("digest %s: %v", digest, err)
		}
		r.Close()
	}
}
