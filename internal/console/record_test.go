package console_test

import (
	"testing"

	"filippo.io/age"

	"github.com/sotto-llm/sotto/internal/console/consoletest"
	"github.com/sotto-llm/sotto/record"
)

// sealedRecord is an encrypted record that nobody can read.
func sealedRecord(t *testing.T) (dir string) {
	t.Helper()
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	w, err := record.Open(dir, record.Options{Policy: record.None, Recipients: []age.Recipient{identity.Recipient()}})
	if err != nil {
		t.Fatal(err)
	}
	consoletest.Put(t, w, consoletest.Exchange("m", "p", "a"))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}
