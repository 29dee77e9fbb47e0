// Package js builds the package for JavaScript, and runs its tests in Node.js.
package js

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// bounds are those of the module with the dialects that come with Sotto, in bytes, and compressed by
// gzip. The empty program of Go has 1.8 MB, and 545 kB compressed.
func bounds() (most, zipped int64) {
	if os.Getenv("WASM_OPT") != "" {
		return 2_500_000, 740_000
	}
	return 2_600_000, 740_000
}

const folder = "../../js"

var building sync.Once

// built builds the package, once for all tests.
func built(t *testing.T) {
	t.Helper()
	if os.Getenv("SOTTO_NPM") == "" {
		t.Skip("SOTTO_NPM is not set: run it as SOTTO_NPM=$(interop/npm/install)")
	}
	building.Do(func() { run(t, folder, "./build") })
}

// TestPackage runs the conformance kit, at every cut, and the tests of the package.
func TestPackage(t *testing.T) {
	built(t)
	most, mostZipped := bounds()
	module := filepath.Join(folder, "dist", "sotto.wasm")
	if info, err := os.Stat(module); err != nil || info.Size() > most {
		t.Errorf("the module has %v bytes, %v; want at most %d", info.Size(), err, most)
	}
	if n := zipped(t, module); n > mostZipped { // Go's gzip is a little larger than that of others
		t.Errorf("the module has %d bytes compressed, want at most %d", n, mostZipped)
	}
	t.Log(run(t, folder, "node", "--test", "test/"))
}

// TestPack looks at what would be published.
func TestPack(t *testing.T) {
	built(t)
	var packs []struct {
		Files []struct{ Path string }
	}
	if err := json.Unmarshal([]byte(run(t, folder, "npm", "pack", "--dry-run", "--json", "--ignore-scripts")), &packs); err != nil || len(packs) != 1 {
		t.Fatalf("%v: %d packages", err, len(packs))
	}
	left := map[string]bool{"LICENSE": true, "README.md": true, "package.json": true, "dist/index.js": true, "dist/index.d.ts": true, "dist/core.js": true, "dist/sotto.wasm": true, "dist/sotto-dialects.wasm": true, "dist/sotto-history.wasm": true}
	for _, f := range packs[0].Files {
		if delete(left, f.Path); strings.HasPrefix(f.Path, "test") || strings.HasPrefix(f.Path, "src") || strings.HasPrefix(f.Path, "examples") || strings.Contains(f.Path, ".opt.") {
			t.Errorf("the package has %s", f.Path)
		}
	}
	if len(left) > 0 {
		t.Errorf("the package lacks %v", left)
	}
}

func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// zipped returns the size of a file compressed by gzip.
func zipped(t *testing.T, name string) int64 {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var n counter
	z, err := gzip.NewWriterLevel(&n, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(z, file); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return int64(n)
}

type counter int64

func (n *counter) Write(p []byte) (int, error) {
	*n += counter(len(p))
	return len(p), nil
}
