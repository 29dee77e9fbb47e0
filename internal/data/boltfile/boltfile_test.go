package boltfile

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/sotto-llm/sotto/internal/base/effort"
)

// filled makes a file with branches, leaves, overflow pages, free pages, and buckets of
// both kinds.
func filled(t testing.TB) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "a.db")
	db, err := bbolt.Open(file, 0o600, &bbolt.Options{NoSync: true, PageSize: 1024})
	if err != nil {
		t.Fatal(err)
	}
	for round := range 3 {
		if err := db.Update(func(tx *bbolt.Tx) error {
			b, err := tx.CreateBucketIfNotExists([]byte("many"))
			if err != nil {
				return err
			}
			small, err := b.CreateBucketIfNotExists([]byte("small"))
			if err != nil {
				return err
			}
			err = small.Put([]byte("k"), []byte("v"))
			for i := range 100 {
				err = errors.Join(err, b.Put(fmt.Appendf(nil, "key %d", i), bytes.Repeat([]byte{byte(round)}, 30)))
			}
			return errors.Join(err, b.Put([]byte("long"), make([]byte, 5000)))
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestCheckPasses(t *testing.T) {
	file := filled(t)
	if err := Check(file); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := Copy(file, &b); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "b.db")
	if err := os.WriteFile(to, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Check(to); err != nil {
		t.Error("the copy:", err)
	}
}

// A file that is written is neither read nor changed, and its writer is not disturbed.
func TestInUse(t *testing.T) {
	file := filled(t)
	db, err := bbolt.Open(file, 0o600, &bbolt.Options{Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := Copy(file, new(bytes.Buffer)); !errors.Is(err, ErrInUse) {
		t.Error(err)
	}
}

// Whatever bytes of a file change, Check returns: it does not panic, does not recurse
// without end, and reads nothing outside the file.
func TestHostileFiles(t *testing.T) {
	data, err := os.ReadFile(filled(t))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "c.db")
	rounds, found := 3000, 0
	if effort.Brief() {
		rounds = 300
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range rounds {
		bad := bytes.Clone(data)
		for range 1 + random.IntN(3) {
			at := 2048 + random.IntN(len(bad)-2048)
			if random.IntN(2) == 0 { // headers, where the structure is
				at = at/1024*1024 + random.IntN(64)
			}
			bad[at] = [...]byte{0, 1, 2, 3, 5, 0x10, 0x7f, 0xff, byte(random.Uint32())}[random.IntN(9)]
		}
		if random.IntN(10) == 0 {
			bad = bad[:random.IntN(len(bad))]
		}
		if err := os.WriteFile(file, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if Check(file) != nil {
			found++
		}
	}
	if found < rounds/4 {
		t.Errorf("%d of %d changes were found", found, rounds)
	}
}

// The faults that would end a process in bbolt are named with their page and byte.
func TestVerifyNames(t *testing.T) {
	data, err := os.ReadFile(filled(t))
	if err != nil {
		t.Fatal(err)
	}
	root := int64(0)
	m, err := readMeta(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	root = int64(m.root) * m.pageSize
	for name, c := range map[string]struct {
		change func(b []byte) []byte
		want   string
	}{
		"cut":        {func(b []byte) []byte { return b[:len(b)/2] }, "the end is missing"},
		"metas":      {func(b []byte) []byte { b[20], b[1024+20] = 9, 9; return b }, "neither meta page is valid, at byte 0"},
		"another id": {func(b []byte) []byte { b[root] = 99; return b }, fmt.Sprintf("page %d at byte %d: it says that it is page 99", m.root, root)},
		"many pages": {func(b []byte) []byte { b[root+13] = 9; return b }, "it says that it has 2305 pages"},
		"a kind":     {func(b []byte) []byte { b[root+8] = flagMeta; return b }, "it is of kind 0x4"},
		"elements":   {func(b []byte) []byte { b[root+11] = 0xff; return b }, "is not in its order"},
	} {
		file := filepath.Join(t.TempDir(), "d.db")
		if err := os.WriteFile(file, c.change(bytes.Clone(data)), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := Verify(file); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}
