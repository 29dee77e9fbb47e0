package cli

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/sotto-llm/sotto/internal/testing/terminaltest"
)

// hostileData backs up, checks and restores folders and archives whose names and
// contents are hostile text.
func hostileData(t *testing.T) map[string][]hostileCase {
	t.Helper()
	dir, none := "kept", strangeFile("none")
	if err := os.MkdirAll(filepath.Join(dir, "chats"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, strangeFile("notes")), "x")
	newer := strangeFile("newer")
	if err := os.Mkdir(newer, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(newer, "format.json"), `{"v":99,"written_by":`+quote(strangeText)+`}`)
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	about := `{"v":99,"format":1,"written_by":` + quote(strangeText) + `}`
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "sotto-data.json", Size: int64(len(about))}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(about)); err != nil {
		t.Fatal(err)
	}
	archive := write(t, "hostile.tar", b.String())
	text := write(t, strangeFile("text"), terminaltest.Strange)
	full := strangeFile("full")
	if err := os.MkdirAll(filepath.Join(full, strangeFile("mine")), 0o700); err != nil {
		t.Fatal(err)
	}
	return map[string][]hostileCase{
		"data backup":  {of(dir, "--to", "kept.tar.zst"), {args: []string{dir, "--to", "-"}, silent: "an archive is not written to a terminal"}, of(dir, "--to", none+"/x"), of(dir, "--to", filepath.Join(dir, strangeFile("x"))), of(none, "--to", "x"), of(newer, "--to", "x")},
		"data verify":  {of(dir), of(dir, "--json"), of(newer), of(newer, "--json"), of(archive), of(text), of(none), of("--max-size", terminaltest.Strange, archive)},
		"data restore": {of(archive, "--to", "restored"), of(text, "--to", "restored"), of(none, "--to", "restored"), of(archive, "--to", full)},
	}
}
