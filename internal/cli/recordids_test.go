package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/record"
)

// TestRecordShowID: what an application knows by an identifier is found: an
// exchange by its response, its user or its session, a run with all of its events
// by its name, its context or its own id; also where identifiers are digests, with
// their key.
func TestRecordShowID(t *testing.T) {
	key := []byte("0123456789abcdef")
	keyFile := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(keyFile, key, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, level := range []record.Level{record.Full, record.Digests} {
		dir := t.TempDir()
		w, err := record.Open(dir, record.Options{IDs: level, DigestKey: key})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range []record.Event{
			{Payload: record.Exchange{ResponseID: "chatcmpl-1", IDs: map[string]string{"user": "ann", "session_id": "s-1"}}},
			{Payload: record.Exchange{ResponseID: "chatcmpl-2", IDs: map[string]string{"user": "bob"}}},
			{Run: "task-1", Payload: record.RunStart{ID: "run-id", IDs: map[string]string{"context": "talk"}}},
			{Run: "task-1", Cycle: 1, Payload: record.CycleStart{}},
			{Run: "task-2", Payload: record.RunStart{IDs: map[string]string{"context": "other"}}},
			{Run: "task-1+mixer.1", Payload: record.RunStart{Parent: "task-1"}},
			{Run: "task-1", Payload: record.RunEnd{}},
			{Payload: record.Exchange{}},
		} {
			if _, err := w.Append(t.Context(), e); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		for args, want := range map[string]string{
			"chatcmpl-1": "1", "ann": "1", "s-1": "1", "bob": "2", "nobody": "", "talk": "3 4 6 7", "task-1": "3 4 6 7", "run-id": "3 4 6 7",
			"task-1+mixer.1": "6", "talk --limit 2": "3 4", "talk --type run_end": "7", "mixer": "",
		} {
			list := append([]string{"record", "show", dir, "--json", "--id"}, strings.Fields(args)...)
			if level == record.Digests {
				list = append(list, "--digest-key", keyFile)
			}
			var out, errs bytes.Buffer
			if status := Run(list, strings.NewReader(""), &out, &errs, func(string) string { return "" }); status != 0 {
				t.Fatalf("%s: %s", args, errs.String())
			}
			var got []string
			for _, m := range regexp.MustCompile(`(?m)^\{"v":\d+,"seq":(\d+)`).FindAllStringSubmatch(out.String(), -1) {
				got = append(got, m[1])
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%v, --id %s: events %v, want %s", level, args, got, want)
			}
			if level == record.Digests && strings.Contains(out.String(), `"ann"`) {
				t.Errorf("a user's name is in the record: %s", out.String())
			}
		}
	}
}

// TestRecordShowTrace: a trace has its exchanges, its runs with the agents below them, and of
// a run that worked on messages of several traces the cycles that are its own.
func TestRecordShowTrace(t *testing.T) {
	key := []byte("0123456789abcdef")
	keyFile := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(keyFile, key, 0o600); err != nil {
		t.Fatal(err)
	}
	a, b := strings.Repeat("a", 32), strings.Repeat("b", 32)
	in := func(trace string) map[string]string {
		return map[string]string{record.IDTrace: trace, record.IDParentSpan: strings.Repeat("c", 16)}
	}
	for _, level := range []record.Level{record.Full, record.Digests} {
		dir := t.TempDir()
		w, err := record.Open(dir, record.Options{IDs: level, DigestKey: key})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range []record.Event{
			{Payload: record.Exchange{IDs: in(a)}},
			{Payload: record.Exchange{IDs: map[string]string{"user": b}}},
			{Run: "task-1", Payload: record.RunStart{IDs: in(a)}},
			{Run: "task-1", Cycle: 1, Payload: record.CycleStart{}},
			{Run: "task-1+mixer.1", Payload: record.RunStart{Parent: "task-1"}},
			{Run: "task-2", Payload: record.RunStart{}},
			{Run: "task-1", Cycle: 2, Payload: record.CycleStart{IDs: in(b)}},
			{Run: "task-1", Cycle: 2, Payload: record.ToolCall{Name: "x", Peer: &record.Peer{Task: "t"}}},
			{Run: "task-1", Cycle: 3, Payload: record.CycleStart{IDs: in(a)}},
			{Run: "task-2", Payload: record.RunEnd{}},
		} {
			if _, err := w.Append(t.Context(), e); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		for args, want := range map[string]string{
			a: "1 3 4 5 9", b: "7 8", strings.Repeat("d", 32): "", a + " --limit 2": "1 3", "00-" + b + "-" + strings.Repeat("e", 16) + "-01": "7 8",
		} {
			list := append([]string{"record", "show", dir, "--json", "--trace"}, strings.Fields(args)...)
			if level == record.Digests {
				list = append(list, "--digest-key", keyFile)
			}
			var out, errs bytes.Buffer
			if status := Run(list, strings.NewReader(""), &out, &errs, func(string) string { return "" }); status != 0 {
				t.Fatalf("%s: %s", args, errs.String())
			}
			var got []string
			for _, m := range regexp.MustCompile(`(?m)^\{"v":\d+,"seq":(\d+)`).FindAllStringSubmatch(out.String(), -1) {
				got = append(got, m[1])
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%v, --trace %s: events %v, want %s", level, args, got, want)
			}
		}
		for _, args := range []string{"--trace nothing", "--trace " + strings.ToUpper(a), "--trace " + a + " --id x", "--digest-key " + keyFile} {
			var out, errs bytes.Buffer
			if status := Run(append([]string{"record", "show", dir}, strings.Fields(args)...), strings.NewReader(""), &out, &errs, func(string) string { return "" }); status != 2 {
				t.Errorf("%s: %d %s", args, status, errs.String())
			}
		}
	}
}
