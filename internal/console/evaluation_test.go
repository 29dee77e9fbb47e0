package console_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/sotto-llm/sotto/internal/console"
	"github.com/sotto-llm/sotto/internal/console/consoletest"
	"github.com/sotto-llm/sotto/internal/lab/scoreview"
	"github.com/sotto-llm/sotto/internal/lab/screens"
	"github.com/sotto-llm/sotto/internal/testing/terminaltest"
	"github.com/sotto-llm/sotto/record"
)

// scored opens files of lines.
func scored(t *testing.T, files ...[]map[string]any) []*scoreview.File {
	t.Helper()
	var list []*scoreview.File
	for _, lines := range files {
		var b strings.Builder
		for _, l := range lines {
			_ = json.NewEncoder(&b).Encode(l)
		}
		name := filepath.Join(t.TempDir(), "scored.jsonl")
		if err := os.WriteFile(name, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := scoreview.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, f)
	}
	return list
}

// verdicts are lines with a text in every member that is shown.
func verdicts(texts []string) (list []map[string]any) {
	for i, text := range texts {
		list = append(list, map[string]any{
			"id": text, "candidate": text, "method": text, "span": []int{8, 8 + len(text)}, "status": text, "rules": text, "ok": i%2 == 0, "reason": text, "detail": text, "by": text,
			"attempts": []map[string]any{{"method": text, "found": 1, "why": text}}, "raw": "<think> " + text + "</think>" + text, "gold": text, "model": text, "task": text, "input": text,
		})
	}
	return list
}

// Every link of the evaluation leads somewhere; the candidate is marked in the reply.
// What a file says is inert, and no address names a file.
func TestEvaluation(t *testing.T) {
	texts := consoletest.Hostile()
	files := scored(t, verdicts(texts[:130]), verdicts(texts))
	base := serve(t, withLab(console.Config{}, screens.Config{Scores: &scoreview.Files{Scores: files}}), "/p/")
	allowed := map[string]bool{"mark": true}
	for _, e := range elements {
		allowed[e] = true
	}
	seen := map[string]bool{}
	queue := []string{"evaluation", "evaluation?with=1", "evaluation?file=1&verdict=wrong", "evaluation/0?with=1", "evaluation/7", "evaluation/129"}
	marks := 0
	for len(queue) > 0 && len(seen) < 120 {
		at := queue[0]
		if queue = queue[1:]; seen[at] {
			continue
		}
		seen[at] = true
		resp, page := get(t, base+at)
		if bad := terminaltest.Forbidden([]byte(page)); resp.StatusCode != 200 || bad != "" {
			t.Fatalf("%s: %s, holds %s", at, resp.Status, bad)
		}
		walk(t, page, func(n *html.Node) {
			if !allowed[n.Data] {
				t.Errorf("%s: an element %s", at, n.Data)
			}
			if n.Data == "mark" {
				marks++
			}
			for _, a := range n.Attr {
				if strings.HasPrefix(a.Key, "on") || a.Key == "style" || (a.Key == "href" || a.Key == "src") && strings.Contains(strings.SplitN(a.Val, "?", 2)[0], ":") {
					t.Errorf("%s: %s has %s=%s", at, n.Data, a.Key, a.Val)
				}
				if a.Key == "href" && strings.HasPrefix(a.Val, "evaluation") {
					queue = append(queue, a.Val)
				}
			}
		})
	}
	if len(seen) < 100 || marks == 0 {
		t.Errorf("%d pages, %d marks", len(seen), marks)
	}
	for path, status := range map[string]int{
		"evaluation?file=2": 404, "evaluation?file=/etc/passwd": 400, "evaluation?with=9": 404, "evaluation/130": 404, "evaluation/x": 400, "evaluation?verdict=maybe": 400, "evaluation?change=lost": 400, "evaluation/0?with=9": 404,
	} {
		if resp, _ := get(t, base+path); resp.StatusCode != status {
			t.Errorf("%s: %s, want %d", path, resp.Status, status)
		}
	}
	var page struct {
		V, Lines int
		Compared struct{ Alone, Both int }
	}
	_, body := get(t, base+"evaluation?file=1&with=0&format=json")
	if err := json.Unmarshal([]byte(body), &page); err != nil || page.V != 1 || page.Lines != len(texts) || page.Compared.Alone < len(texts)-130 {
		t.Errorf("%v: %.300s", err, body)
	}
}

// Without a scored file, the screen says how to get one.
func TestEvaluationEmpty(t *testing.T) {
	base := serve(t, console.Config{Record: consoletest.Store(t, consoletest.Scripted(t))}, "/")
	if _, page := get(t, base+"evaluation"); !strings.Contains(page, "sotto console --scores scored.jsonl") {
		t.Error(page)
	}
	if resp, _ := get(t, base+"evaluation/0"); resp.StatusCode != 404 {
		t.Error(resp.Status)
	}
}

// The verdicts of a record are a scored file: each with the reply that it judges, in
// which the candidate is marked. Who opens one is in the audit. A record without
// verdicts shows what to do.
func TestEvaluationOfRecord(t *testing.T) {
	dir, _ := consoletest.Runs(t)
	w, audits := consoletest.Open(t)
	c := console.Config{Record: consoletest.Store(t, dir), Name: "audit", Audit: w, AuditApart: true}
	base := serve(t, c, "/")
	var list scoreview.Page
	getJSON(t, base+"evaluation?format=json", &list)
	if want := judged(t, dir); list.Lines != len(want) || list.Lines == 0 {
		t.Fatalf("%d lines, want %d", list.Lines, len(want))
	}
	right := 0
	for i, want := range judged(t, dir)[:min(len(list.Rows), 20)] {
		row := list.Rows[i]
		if row.OK != want.Verdict.OK || row.Candidate != string(want.Candidate.Text) || row.Event != want.Of.Seq {
			t.Errorf("row %d: %+v, want %+v", i, row, want)
		}
		var line scoreview.Line
		getJSON(t, fmt.Sprintf("%sevaluation/%d?format=json", base, i), &line)
		var marked, all strings.Builder
		for _, p := range line.Parts {
			all.WriteString(p.Text)
			if p.Marked {
				marked.WriteString(p.Text)
			}
		}
		if want.Span != nil && marked.String() != string(want.Written.Text) || line.Bytes != all.Len() || line.Bytes == 0 || line.Question == "" {
			t.Errorf("line %d: %+v, want %q marked", i, line, want.Written.Text)
		}
		if row.OK {
			right++
		}
	}
	if right == 0 {
		t.Error("no line is right")
	}
	if n := len(views(t, audits)); n != min(len(list.Rows), 20) {
		t.Errorf("%d views are in the audit", n)
	}
	_, page := get(t, serve(t, console.Config{Record: consoletest.Store(t, consoletest.Scripted(t)), Name: "audit"}, "/")+"evaluation")
	if !strings.Contains(page, "No scored file.") {
		t.Error(page)
	}
}

// judged are the extractions of a record that have a verdict.
func judged(t *testing.T, dir string) (list []record.Extraction) {
	t.Helper()
	for e, err := range consoletest.Store(t, dir).Reader().Events(record.Query{Types: []record.Type{record.TypeExtraction}}) {
		if err != nil {
			t.Fatal(err)
		}
		if x := e.Payload.(record.Extraction); x.Verdict != nil {
			list = append(list, x)
		}
	}
	return list
}

func getJSON(t *testing.T, address string, into any) {
	t.Helper()
	resp, body := get(t, address)
	if err := json.Unmarshal([]byte(body), into); err != nil || resp.StatusCode != 200 {
		t.Fatalf("%s: %s: %v\n%s", address, resp.Status, err, body)
	}
}
