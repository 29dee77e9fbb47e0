package studyarchive_test

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/lab/study"
	"github.com/sotto-llm/sotto/internal/lab/studyarchive"
	"github.com/sotto-llm/sotto/internal/lab/studyreport"
	"github.com/sotto-llm/sotto/internal/lab/studyreport/studytest"
)

// pack returns the archive of a study.
func pack(t *testing.T, dir string) []byte {
	t.Helper()
	m, err := studyarchive.Describe(dir)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := m.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func reportOf(t *testing.T, dir string) string {
	t.Helper()
	r, err := studyreport.Build(t.Context(), dir, studyreport.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := r.Print(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// An archive has the same bytes each time, and what it unpacks to has the same report.
func TestRoundTrip(t *testing.T) {
	for name, write := range map[string]func(testing.TB, string, studytest.Grid) *study.Manifest{"streams": studytest.Streams, "runs": studytest.Runs} {
		dir := t.TempDir()
		write(t, dir, studytest.Grid{Models: []string{"a", "b"}, Modes: []string{"io", "template"}, Repetitions: 2, Size: 5})
		os.WriteFile(filepath.Join(dir, "LOCK"), nil, 0o600)
		data := pack(t, dir)
		os.Chtimes(study.ManifestFile(dir), study.Manifest{}.Began, study.Manifest{}.Began)
		if !bytes.Equal(data, pack(t, dir)) {
			t.Errorf("%s: two archives differ", name)
		}
		out := t.TempDir()
		m, err := studyarchive.Extract(t.Context(), bytes.NewReader(data), 0, out)
		if err != nil || m.Name == "" {
			t.Fatal(err)
		}
		if got, want := reportOf(t, out), reportOf(t, dir); got != want {
			t.Errorf("%s: the report is\n%s\nwant\n%s", name, got, want)
		}
	}
}

// A study with a cell that waits is not packed.
func TestUnfinished(t *testing.T) {
	dir := t.TempDir()
	m := studytest.Streams(t, dir, studytest.Grid{Models: []string{"a"}, Modes: []string{"io"}, Repetitions: 2, Size: 3})
	if err := os.Remove(study.StateFile(dir, m.Cells[0].ID)); err != nil {
		t.Fatal(err)
	}
	if _, err := studyarchive.Describe(dir); !errors.Is(err, studyarchive.ErrUnfinished) {
		t.Errorf("%v", err)
	}
}

// A member of a made archive. Its digest in the list is right unless the list says another.
type made struct {
	name, text string
	kind       byte
}

// archive makes a tar file with a list of members, and others.
func archive(list []made, members []made) []byte {
	m := studyarchive.Manifest{V: 1, Type: "study", Name: "x"}
	for _, f := range list {
		sum := sha256.Sum256([]byte(f.text))
		m.Files = append(m.Files, studyarchive.File{Name: f.name, Bytes: int64(len(f.text)), SHA256: hex.EncodeToString(sum[:])})
	}
	head, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return tarOf(append([]made{{name: "archive.json", text: string(head)}}, members...))
}

func tarOf(members []made) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range members {
		h := &tar.Header{Name: f.name, Size: int64(len(f.text)), Mode: 0o600, Typeflag: tar.TypeReg}
		if f.kind != 0 {
			h.Typeflag, h.Linkname, h.Size = f.kind, f.text, 0
		}
		if err := w.WriteHeader(h); err != nil {
			panic(err)
		}
		if f.kind == 0 {
			io.WriteString(w, f.text)
		}
	}
	w.Close()
	return b.Bytes()
}

// Hostile archives are refused, and nothing is written outside the folder.
func TestHostile(t *testing.T) {
	study := made{name: "study.json", text: "{}"}
	with := func(more ...made) []made { return append([]made{study}, more...) }
	at := func(name string) []byte {
		f := made{name: name, text: "x"}
		return archive(with(f), with(f))
	}
	whole := archive(with(made{name: "logs/a.txt", text: "text"}), with(made{name: "logs/a.txt", text: "text"}))
	huge, _ := json.Marshal(studyarchive.Manifest{V: 1, Type: "study", Files: []studyarchive.File{{Name: "study.json", Bytes: 1 << 50, SHA256: strings.Repeat("0", 64)}}})
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"parent":       {at("logs/../../escaped"), "is not a file of a study"},
		"absolute":     {at("/tmp/escaped"), "is not a file of a study"},
		"backslash":    {at(`logs\..\..\escaped`), "is not a file of a study"},
		"drive":        {at("logs/C:escaped"), "is not a file of a study"},
		"other folder": {at("home/escaped"), "is not a file of a study"},
		"hidden":       {at("logs/.profile"), "is not a file of a study"},
		"the list":     {at("archive.json"), "is not a file of a study"},
		"link":         {archive(with(made{name: "logs/a", text: "x"}), with(made{name: "logs/a", text: "/etc/passwd", kind: tar.TypeSymlink})), "is not a regular file"},
		"hard link":    {archive(with(made{name: "logs/a", text: "x"}), with(made{name: "logs/a", text: "study.json", kind: tar.TypeLink})), "is not a regular file"},
		"twice":        {archive(with(study), with(study)), "comes twice"},
		"case":         {archive(with(made{name: "logs/a"}, made{name: "logs/A"}), with(made{name: "logs/a"}, made{name: "logs/A"})), "comes twice"},
		"digest":       {archive(with(made{name: "logs/a", text: "one"}), with(made{name: "logs/a", text: "two"})), "SHA-256"},
		"size":         {archive(with(made{name: "logs/a", text: "one"}), with(made{name: "logs/a", text: "three"})), "the list says 3"},
		"missing":      {archive(with(made{name: "logs/a"}), with()), "is missing"},
		"more":         {archive(with(), with(made{name: "logs/a"})), "the list does not have it"},
		"order":        {archive(with(made{name: "logs/a"}, made{name: "logs/b"}), with(made{name: "logs/b"}, made{name: "logs/a"})), "belongs"},
		"no study":     {archive([]made{{name: "logs/a"}}, []made{{name: "logs/a"}}), "no study.json"},
		"bomb":         {tarOf([]made{{name: "archive.json", text: string(huge)}}), "hold more than"},
		"deep list":    {tarOf([]made{{name: "archive.json", text: strings.Repeat("[", 1<<20)}}), "archive.json"},
		"no list":      {tarOf(with()), "does not begin with archive.json"},
		"empty":        {nil, "not the archive of a study"},
		"text":         {[]byte("text that is not an archive"), "not the archive of a study"},
		"cut":          {whole[:len(whole)-2048+100], ""},
	} {
		dir := filepath.Join(t.TempDir(), "a", "b")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		_, err := studyarchive.Extract(t.Context(), bytes.NewReader(c.data), 0, dir)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if _, again := studyarchive.Read(t.Context(), bytes.NewReader(c.data), 0, nil); again == nil {
			t.Errorf("%s: verified", name)
		}
		outside, _ := filepath.Glob(filepath.Join(dir, "..", "*"))
		if above, _ := filepath.Glob(filepath.Join(dir, "..", "..", "*")); len(outside)+len(above) != 2 {
			t.Errorf("%s: %q, %q", name, outside, above)
		}
	}
	if _, err := studyarchive.Read(t.Context(), bytes.NewReader(whole), 5, nil); err == nil || !strings.Contains(err.Error(), "hold more than 5 bytes") {
		t.Errorf("a bound: %v", err)
	}
	if _, err := studyarchive.Read(t.Context(), bytes.NewReader(whole), 6, nil); err != nil {
		t.Errorf("%v", err)
	}
}

// A member of any size is read in bounded memory.
func TestBoundedMemory(t *testing.T) {
	const size = 16 << 20
	h := sha256.New()
	io.CopyN(h, zeros{}, size)
	head, _ := json.Marshal(studyarchive.Manifest{V: 1, Type: "study", Files: []studyarchive.File{{Name: "study.json", Bytes: size, SHA256: hex.EncodeToString(h.Sum(nil))}}})
	r, w := io.Pipe()
	go func() {
		out := tar.NewWriter(w)
		out.WriteHeader(&tar.Header{Name: "archive.json", Size: int64(len(head)), Typeflag: tar.TypeReg})
		out.Write(head)
		out.WriteHeader(&tar.Header{Name: "study.json", Size: size, Typeflag: tar.TypeReg})
		io.CopyN(out, zeros{}, size)
		w.CloseWithError(out.Close())
	}()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := studyarchive.Read(t.Context(), r, 0, nil); err != nil {
		t.Error(err)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > size/4 {
		t.Errorf("%d bytes were allocated", n)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
