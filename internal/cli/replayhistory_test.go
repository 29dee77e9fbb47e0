package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/check/scripted"
	"github.com/sotto-llm/sotto/internal/lab/historyreplay"
)

// recordConversation has a client that keeps no reasoning ask a model twice, through
// sotto serve.
func recordConversation(t *testing.T, model string) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "audit")
	r := startServe(t, "--record="+dir)
	messages := []map[string]string{{"role": "user", "content": "Which tower?"}}
	for range 2 {
		body, _ := json.Marshal(map[string]any{"model": model, "messages": messages})
		resp, err := r.client.Post(r.gateway+"/v1/chat/completions", "application/json", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		var reply struct {
			Choices []struct{ Message struct{ Content string } }
		}
		err = json.NewDecoder(resp.Body).Decode(&reply)
		resp.Body.Close()
		if err != nil || len(reply.Choices) != 1 {
			t.Fatal(resp.Status, err)
		}
		messages = append(messages, map[string]string{"role": "assistant", "content": reply.Choices[0].Message.Content}, map[string]string{"role": "user", "content": "And how tall?"})
	}
	r.client.CloseIdleConnections()
	r.interrupt(t)
	return dir
}

// TestReplayHistory: the report of a run that went on after a cut is that of a whole
// run; a server that is gone or refuses the key ends a run with what there is.
func TestReplayHistory(t *testing.T) {
	script := scripted.New(scripted.Options{})
	requests, denied := 0, false
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		requests++
		if denied || q.Header.Get("Authorization") != "Bearer the-key" {
			http.Error(w, `{"error":{"message":"no such key"}}`, http.StatusUnauthorized)
			return
		}
		script.ServeHTTP(w, q)
	}))
	defer upstream.Close()
	dir := recordConversation(t, "qwen3:8b")
	env := func(name string) string {
		if name == "SOTTO_UPSTREAM_KEY" {
			return "the-key"
		}
		return ""
	}
	rows := filepath.Join(t.TempDir(), "rows.jsonl")
	replay := func(want int, args ...string) (out, errs string) {
		t.Helper()
		var o, e bytes.Buffer
		args = append([]string{"replay-history", dir, "--policy=drop,preserve,auto", "--rounds=2", "--workers=3", "--json", "-o", rows}, args...)
		if got := Run(args, strings.NewReader(""), &o, &e, env); got != want {
			t.Fatalf("status %d, want %d\n%s\n%s", got, want, o.String(), e.String())
		}
		if strings.Contains(o.String()+e.String(), "the-key") {
			t.Error("the key is shown")
		}
		return o.String(), e.String()
	}
	plan, _ := replay(0, "--dry-run")
	if _, err := os.Stat(rows); err == nil || requests != 0 || !strings.Contains(plan, `"requests": 4`) {
		t.Errorf("a dry run sent %d requests and planned %s", requests, plan)
	}
	whole, _ := replay(0, "--upstream", upstream.URL)
	if requests != 4 {
		t.Errorf("%d requests, want 4", requests)
	}
	text, err := os.ReadFile(rows)
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(text, []byte("\n")); n != 6 {
		t.Fatalf("%d rows, want 6:\n%s", n, text)
	}
	if !bytes.Contains(text, []byte("<think>")) {
		t.Errorf("tags are escaped: %.300s", text)
	}
	if _, errs := replay(1, "--upstream", upstream.URL, "--as", "another"); !strings.Contains(errs, `a row of the model "qwen3:8b"`) {
		t.Error(errs)
	}
	var row historyreplay.Row
	line, _, _ := bytes.Cut(text, []byte("\n"))
	if err := json.Unmarshal(line, &row); err != nil || row.Raw == "" || row.Answer == "" || strings.Contains(row.Answer, "<think>") || row.Input == 0 {
		t.Errorf("%v: %s", err, line)
	}
	for cut := range len(text) + 1 { // wherever a run was killed
		if cut%97 != 0 && cut != len(text) {
			continue
		}
		if err := os.WriteFile(rows, text[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		again, _ := replay(0, "--upstream", upstream.URL)
		if a, b := timeless(t, whole), timeless(t, again); !reflect.DeepEqual(a, b) {
			t.Fatalf("cut at %d:\n%s\nwhole:\n%s", cut, again, whole)
		}
	}
	denied = true
	if err := os.WriteFile(rows, text[:len(line)+1], 0o600); err != nil {
		t.Fatal(err)
	}
	out, errs := replay(1, "--upstream", upstream.URL)
	if !strings.Contains(errs, "no such key") || !strings.Contains(errs, "goes on from there") || !strings.Contains(out, `"rows": 1`) {
		t.Errorf("%s\n%s", out, errs)
	}
	if kept, _ := os.ReadFile(rows); !bytes.Equal(kept, text[:len(line)+1]) {
		t.Errorf("the rows so far are %s", kept)
	}
	if err := os.WriteFile(rows, []byte("{\"some\":\"other file\"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, errs := replay(1, "--upstream", upstream.URL); !strings.Contains(errs, "line 1: not a row of an earlier run") {
		t.Error(errs)
	}
	if kept, _ := os.ReadFile(rows); string(kept) != "{\"some\":\"other file\"}\n" {
		t.Errorf("another file became %s", kept)
	}
	var shown bytes.Buffer
	if status := Run([]string{"replay-history", dir, "--dry-run"}, strings.NewReader(""), &shown, io.Discard, env); status != 0 || !strings.Contains(shown.String(), "left out: 1 (nothing is known of earlier reasoning)") {
		t.Errorf("status %d\n%s", status, shown.String())
	}
}

// timeless is a report without what a clock says.
func timeless(t *testing.T, report string) (object map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(report), &object); err != nil {
		t.Fatal(err, report)
	}
	policies, _ := object["policies"].([]any)
	for _, p := range policies {
		delete(p.(map[string]any), "ms")
		delete(p.(map[string]any), "same_requests") // after a cut, a request that was shared is sent again
	}
	differences, _ := object["differences"].([]any)
	var kept []any
	for _, d := range differences {
		if d.(map[string]any)["measure"] != "time" {
			delete(d.(map[string]any), "p_corrected") // the time counts as a comparison too
			kept = append(kept, d)
		}
	}
	object["differences"] = kept
	return object
}
