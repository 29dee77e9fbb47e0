package databackup

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/internal/net/certificates/certificatestest"
)

// certified writes what package autocert keeps: the key of an account, and a certificate
// behind its key.
func certified(t testing.TB, dir string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	der, err := x509.MarshalECPrivateKey(key)
	must(t, err)
	put(t, dir, "acme/ca.example/acme_account+key", string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})))
	cert, private := certificatestest.NewAuthority(t, "ca").Server("gateway.example", time.Time{})
	put(t, dir, "acme/ca.example/gateway.example", string(private)+string(cert))
}

// Answers to an authority, which count for a moment, and files that a crash left half
// written are not copied. Certificates and keys are, and come back for their owner alone.
func TestCertificates(t *testing.T) {
	dir := dataFolder(t)
	kept := template.files["acme/ca.example/gateway.example"]
	for name, text := range map[string]string{
		"gateway.example+token": string(kept), "gateway.example+token123456789": "half", "abc_-4+http-01": "x", "abc_-4+http-0112345": "x",
		"gateway.example123456789": string(kept[:len(kept)/2]),
	} {
		put(t, dir, "acme/ca.example/"+name, text)
	}
	to := filepath.Join(t.TempDir(), "new")
	done, err := restore(t.Context(), backup(t, dir), to)
	must(t, err)
	if len(done.Faults) > 0 {
		t.Fatal(done.Faults)
	}
	entries, err := os.ReadDir(pathIn(to, "acme/ca.example"))
	must(t, err)
	if len(entries) != 2 {
		t.Errorf("%v", entries)
	}
	for _, e := range entries {
		info, err := e.Info()
		must(t, err)
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", e.Name(), info.Mode())
		}
	}
	back, err := os.ReadFile(pathIn(to, "acme/ca.example/gateway.example"))
	must(t, err)
	if !bytes.Equal(back, kept) {
		t.Error("the certificate is another one")
	}
	for _, r := range done.Rows {
		if r.Part == Certificate && (r.Name != "acme/ca.example" || r.Files != 2) {
			t.Errorf("%+v", r)
		}
	}
}
