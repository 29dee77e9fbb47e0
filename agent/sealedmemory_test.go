package agent

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"filippo.io/age"

	"github.com/sotto-llm/sotto/record"
)

// The memory of a run whose record is encrypted is encrypted too: what the agent wrote down
// stands nowhere in plain. With the identity the run goes on with what it remembers, without
// it the run is refused.
func TestMemoryOfSealedRun(t *testing.T) {
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	o := in(dir)
	o.RecordOptions.Recipients = []age.Recipient{id.Recipient()}
	if s, err := Run(t.Context(), keeps(t, "CANARY"), o); err != nil || s.Status != Done {
		t.Fatal(s, err)
	}
	files := 0
	err = fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		data, err := os.ReadFile(filepath.Join(dir, name))
		if bytes.Contains(data, []byte("CANARY")) {
			t.Errorf("%s: %s", name, data)
		}
		return err
	})
	if err != nil || files < 2 {
		t.Fatal(files, err)
	}
	longer := keeps(t, "CANARY")
	longer.Cycles = 4
	if _, err := Run(t.Context(), longer, o); !errors.Is(err, record.ErrSealed) {
		t.Errorf("without the identity: %v", err)
	}
	o.Identities = []age.Identity{id}
	s, err := Run(t.Context(), longer, o)
	if err != nil || s.Cycles != 4 {
		t.Errorf("resumed: %+v, %v", s, err)
	}
	m, err := openMemory(o.Memory, "r", o.RecordOptions.Recipients, o.Identities)
	if err != nil || len(m.past) != 6 {
		t.Errorf("%d changes, %v", len(m.past), err)
	}
	m.Close()
	if _, err := OpenMemory(o.Memory, "r"); err == nil {
		t.Error("a memory in plain goes on in the encrypted log")
	}
}
