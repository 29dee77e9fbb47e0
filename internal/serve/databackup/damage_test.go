package databackup

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/sotto-llm/sotto/internal/base/decompress"
	"github.com/sotto-llm/sotto/internal/base/effort"
)

// A backup that is changed in any byte is refused, or reads the same: a few bits of a
// zstd frame mean nothing. One that is cut anywhere is refused.
func TestDamage(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	put(t, dir, "notes/mine.txt", strings.Repeat("what must not change\n", 20))
	put(t, dir, "starts.json", `{"v":1,"starts":[]}`)
	put(t, dir, "owners.jsonl", `{"v":2}`+"\n")
	archive := backup(t, dir)
	want, err := readAll(archive)
	must(t, err)
	step := 1
	if effort.Brief() {
		step = 3
	}
	refused := 0
	for at := 0; at < len(archive); at += step {
		for _, flip := range []byte{1, 0x80, 0xff} {
			bad := bytes.Clone(archive)
			bad[at] ^= flip
			got, err := readAll(bad)
			if err != nil {
				refused++
			} else if got != want {
				t.Fatalf("byte %d of %d: it reads as\n%s", at, len(archive), got)
			}
		}
		if _, err := readAll(archive[:at]); err == nil {
			t.Fatalf("cut at byte %d of %d: it is not refused", at, len(archive))
		}
	}
	if all := len(archive) / step * 3; refused < all*9/10 {
		t.Errorf("%d of %d changes were refused", refused, all)
	}
}

// readAll reads an archive, and returns what it would restore.
func readAll(archive []byte) (string, error) {
	r := newReader(decompress.NewReader(bytes.NewReader(archive)), 0)
	if err := r.unpack(context.Background()); err != nil {
		return "", err
	}
	return fmt.Sprint(r.about, r.entries), nil
}

// What was changed in the bytes of a file, and packed again with a sum that fits, is
// found by the manifest, with the name of the file and its line there.
func TestChangedInside(t *testing.T) {
	dir := dataFolder(t)
	archive, err := io.ReadAll(decompress.NewReader(bytes.NewReader(backup(t, dir))))
	must(t, err)
	bad := bytes.Replace(archive, []byte("question 1"), []byte("question 9"), 1)
	_, err = CheckArchive(t.Context(), bytes.NewReader(bad), 0, known)
	if err == nil || !strings.Contains(err.Error(), "chats/c1.jsonl was changed") || !strings.Contains(err.Error(), "manifest.jsonl, byte") || !strings.Contains(err.Error(), "line 4") {
		t.Error(err)
	}
}

// Parts that were damaged before the backup are found by what they hold, with the place
// of the first fault. Such a backup is not restored.
func TestDamagedParts(t *testing.T) {
	for name, c := range map[string]struct {
		file, old, new string
		want           string
	}{
		"conversation": {"chats/c1.jsonl", `"turn":2`, `"turn":}`, "chats/c1.jsonl: line 2: "},
		"run memory":   {"runs/memory/demo.jsonl", `"key"`, `"key`, "runs/memory/demo.jsonl: line 1 is not valid JSON at byte "},
		"record":       {"runs/00000000000000000001.jsonl", `"cycle":3`, `"cycle":4`, "runs: record: event 4 (00000000000000000001.jsonl): edited"},
		"owners":       {"owners.jsonl", `"v":2`, `"v":,`, "owners.jsonl: "},
		"first owners": {"owners.json", `"v":1`, `"v":,`, "owners.json: "},
		"starts":       {"starts.json", `"v":1`, `"v":,`, "starts.json: is not valid JSON at byte 5"},
		"prompts":      {"prompts.json", `"v":1`, `"v":,`, "prompts.json: is not valid JSON at byte 5"},
		"certificate":  {"acme/ca.example/gateway.example", "PRIVATE KEY", "PUBLIC KEY", "acme/ca.example/gateway.example: tls: "},
		"account":      {"acme/ca.example/acme_account+key", "BEGIN", "BEGUN", "acme/ca.example/acme_account+key: it has no key"},
		"tasks":        {"a2a.db", `"id":"t1"`, `"id":t11"`, `a2a.db: tasks, row "t1": `},
	} {
		t.Run(name, func(t *testing.T) {
			dir := dataFolder(t)
			data, err := os.ReadFile(pathIn(dir, c.file))
			must(t, err)
			bad := bytes.Replace(data, []byte(c.old), []byte(c.new), -1)
			if bytes.Equal(bad, data) {
				t.Fatal("nothing was changed")
			}
			must(t, os.WriteFile(pathIn(dir, c.file), bad, 0o600))
			to := filepath.Join(t.TempDir(), "new")
			done, err := restore(t.Context(), backup(t, dir), to)
			must(t, err)
			if len(done.Faults) == 0 || !strings.HasPrefix(done.Faults[0].Error(), c.want) {
				t.Errorf("%v, want %s", done.Faults, c.want)
			}
			if _, err := os.Stat(to); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the folder is there: %v", err)
			}
		})
	}
}

const goodAbout = `{"v":1,"format":1,"written_by":"v1.0.0"}`

// An archive that no backup wrote is refused, with the place of the fault. Nothing of
// it stays, and nothing is written outside the folder.
func TestHostileArchives(t *testing.T) {
	about, none := file{aboutName, goodAbout}, file{manifestName, ""}
	long := strings.Repeat("a", 200) + "/"
	for name, c := range map[string]struct {
		archive []byte
		want    string
	}{
		"nothing":             {nil, "byte 0: the archive ends here: it is not whole"},
		"text":                {[]byte(strings.Repeat("text\n", 200)), "it is not a tar file"},
		"another tar":         {packed(t, file{"etc/passwd", "root"}), `it begins with "etc/passwd"`},
		"no version":          {packed(t, file{aboutName, `{}`}), "does not describe a backup"},
		"deep JSON":           {packed(t, file{aboutName, strings.Repeat("[", 3000)}), "nests deeper"},
		"a large head":        {packed(t, file{aboutName, strings.Repeat(" ", 8<<10)}), "larger than"},
		"above":               {packed(t, about, file{"data/../../out", "x"}), "does not stay below the folder"},
		"absolute":            {packed(t, about, file{"/etc/passwd", "x"}), "is not below data/"},
		"absolute below":      {packed(t, about, file{"data//etc/passwd", "x"}), "does not stay below the folder"},
		"of Windows":          {packed(t, about, file{`data/..\out`, "x"}), "does not stay below the folder"},
		"the folder itself":   {packed(t, about, file{"data/.", "x"}), "does not stay below the folder"},
		"control characters":  {packed(t, about, file{"data/\x1b[2J", "x"}), "its name is not plain text"},
		"a long name":         {packed(t, about, file{"data/" + strings.Repeat(long, 6) + "b", "x"}), "its name is longer than 1024 bytes"},
		"deep folders":        {packed(t, about, file{"data/" + strings.Repeat("a/", 40) + "b", "x"}), "it is in more than 32 folders"},
		"twice":               {packed(t, about, file{"data/a", "x"}, file{"data/a", "y"}), "a, byte 2560: it is there twice"},
		"a file as a folder":  {packed(t, about, file{"data/a", "x"}, file{"data/a/b", "y"}), "a/b, byte"},
		"without a manifest":  {packed(t, about, file{"data/a", "x"}), "it is not whole"},
		"an empty manifest":   {packed(t, about, file{"data/a", "x"}, none), "line 1: a is missing"},
		"a file too many":     {packed(t, about, file{manifestName, `{"name":"a"}` + "\n"}), `the archive has no file "a"`},
		"after the manifest":  {packed(t, about, none, file{"data/a", "x"}), "a file follows the manifest"},
		"a bad line":          {packed(t, about, file{"data/a", "x"}, file{manifestName, "{\n"}), "line 1: is not valid JSON"},
		"a long line":         {packed(t, about, file{"data/a", "x"}, file{manifestName, strings.Repeat("x", 10<<10)}), "line 1: bufio: buffer full"},
		"a link":              {special(t, tar.TypeSymlink, nil), `"data/a" is not a regular file`},
		"a hard link":         {special(t, tar.TypeLink, nil), "is not a regular file"},
		"a device":            {special(t, tar.TypeChar, nil), "is not a regular file"},
		"a pipe":              {special(t, tar.TypeFifo, nil), "is not a regular file"},
		"a folder":            {special(t, tar.TypeDir, nil), "is not a regular file"},
		"a property":          {special(t, tar.TypeReg, map[string]string{"SCHILY.xattr.user.x": "y"}), "which no backup has"},
		"bytes after the end": {append(packed(t, about, none), zipped(t, []byte("more"))...), "bytes follow the end of the backup"},
	} {
		t.Run(name, func(t *testing.T) {
			base := t.TempDir()
			dir := filepath.Join(base, "new")
			_, err := restore(t.Context(), c.archive, dir)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
			if left := contents(t, base); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// special makes an archive with something that is not a plain file.
func special(t *testing.T, kind byte, records map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	must(t, w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: aboutName, Size: int64(len(goodAbout))}))
	_, err := io.WriteString(w, goodAbout)
	must(t, err)
	must(t, w.WriteHeader(&tar.Header{Typeflag: kind, Name: "data/a", Linkname: "/etc/passwd", PAXRecords: records, Format: tar.FormatPAX}))
	must(t, w.Close())
	return zipped(t, b.Bytes())
}

// A small archive cannot fill a disk: files that have more bytes than are allowed are
// refused by their headers, before any byte of them is written.
func TestBomb(t *testing.T) {
	var b bytes.Buffer
	z, err := zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1))
	must(t, err)
	w := tar.NewWriter(z)
	must(t, w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: aboutName, Size: int64(len(goodAbout))}))
	_, err = io.WriteString(w, goodAbout)
	must(t, err)
	const each = 8 << 20
	for i := range 4 {
		must(t, w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: fmt.Sprint("data/", i), Size: each}))
		_, err := w.Write(make([]byte, each))
		must(t, err)
	}
	must(t, errors.Join(w.Close(), z.Close()))
	if b.Len() > each/100 {
		t.Fatalf("the archive has %d bytes", b.Len())
	}
	written := int64(0)
	atPoint = func(name string) {
		if name == "file restored" {
			written += each
		}
	}
	defer func() { atPoint = nil }()
	_, err = Restore(t.Context(), decompress.NewReader(&b), filepath.Join(t.TempDir(), "new"), 3*each-1, known)
	if err == nil || !strings.Contains(err.Error(), "2, byte") || !strings.Contains(err.Error(), "more bytes than are allowed") || written != 2*each {
		t.Errorf("%d bytes written; %v", written, err)
	}
}

// A manifest cannot make a reader hold more than one of its lines.
func TestManyFiles(t *testing.T) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	must(t, w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: aboutName, Size: int64(len(goodAbout))}))
	_, err := io.WriteString(w, goodAbout)
	must(t, err)
	for i := range 3 {
		must(t, w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: fmt.Sprint("data/", i)}))
	}
	must(t, w.Flush())
	r := newReader(&b, 0)
	r.entries = make([]Entry, maxFiles-2) // as if so many had come before
	if err := r.unpack(t.Context()); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("more than %d files", maxFiles)) {
		t.Error(err)
	}
}

// FuzzRead reads archives of any bytes into a folder. Nothing is written outside it, and
// an archive that is accepted leaves the files that its manifest lists, and no others.
func FuzzRead(f *testing.F) {
	plain := func(archive []byte) []byte {
		data, err := io.ReadAll(decompress.NewReader(bytes.NewReader(archive)))
		must(f, err)
		return data
	}
	dir := filepath.Join(f.TempDir(), "data")
	put(f, dir, "chats/a.jsonl", "{}\n")
	put(f, dir, "b", "")
	f.Add(plain(backup(f, dir)))
	f.Add(plain(packed(f, file{aboutName, goodAbout}, file{"data/../x", "y"})))
	f.Add(plain(packed(f, file{aboutName, goodAbout}, file{manifestName, ""})))
	f.Fuzz(func(t *testing.T, archive []byte) {
		base := t.TempDir()
		to := filepath.Join(base, "to")
		must(t, os.Mkdir(to, 0o700))
		r := newReader(bytes.NewReader(archive), 1<<20)
		var err error
		r.into, err = os.OpenRoot(to)
		must(t, err)
		defer r.into.Close()
		err = r.unpack(t.Context())
		left := contents(t, base)
		for name := range left {
			if !strings.HasPrefix(name, "to/") {
				t.Errorf("%v: there is %s", err, name)
			}
		}
		if err == nil && len(left) != len(r.entries) {
			t.Errorf("%d files, and the archive lists %d", len(left), len(r.entries))
		}
	})
}
