// Package js builds the package for JavaScript, and runs its tests in Node.js.
package js

import (
	"compress/gzip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// The bounds of the module with the dialects that come with Sotto, in bytes. The empty
// program of Go has 1.8 MB, and 545 kB compressed.
const (
	most       = 2_800_000
	mostZipped = 830_000
)

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
	module := filepath.Join(folder, "dist", "sotto.wasm")
	if info, err := os.Stat(module); err != nil || info.Size() > most {
		t.Errorf("the module has %v bytes, %v; want at most %d", info.Size(), err, most)
	}
	if n := zipped(t, module); n > mostZipped { // Go's gzip is a little larger than that of others
		t.Errorf("the module has %d bytes compressed, want at most %d", n, mostZipped)
	}
	t.Log(run(t, folder, "node", "--test", "test/"))
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
