package replicas

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/internal/net/owners"
	"github.com/sotto-llm/sotto/internal/testing/redisserver"
)

// TestOwners: what one replica notes, another knows. Owners live longer than reasoning, and
// more of them are kept.
func TestOwners(t *testing.T) {
	r := redisserver.Run(t)
	store := func() *owners.Store {
		s := owners.New(owners.Most)
		if err := s.Share(open(t, r.Address(), Options{Entries: 3, Age: time.Minute, Write: patient.Write, Read: patient.Read}), secret); err != nil {
			t.Fatal(err)
		}
		return s
	}
	one, two := store(), store()
	for i := range 10 {
		one.Note("files", fmt.Sprint("file-", i), canary)
	}
	two.Note("files", "file-1", "bob")
	for i := range 10 {
		if got := two.Of("files", fmt.Sprint("file-", i)); got != canary {
			t.Errorf("file-%d is of %q", i, got)
		}
	}
	if got := store().Of("batches", "file-1"); got != "" {
		t.Errorf("of another kind: %q", got)
	}
	for _, key := range strings.Fields(r.Command("KEYS", "*")) {
		if ttl, err := strconv.Atoi(r.Command("PTTL", key)); err != nil || ttl < 24*3600_000 {
			t.Errorf("%s lives for %d ms (%v)", key, ttl, err)
		}
		if strings.Contains(key, "file") || strings.Contains(key, canary) {
			t.Errorf("the name %s tells something", key)
		}
	}
	r.Kill()
	if got := one.Of("files", "file-2"); got != canary {
		t.Errorf("without the server: %q", got)
	}
}
