package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/_benchmark/internal/results"
)

// TestDocument: docs/performance.md is what the results say.
func TestDocument(t *testing.T) {
	root := filepath.Join("..", "..")
	r, err := results.Load(filepath.Join(root, results.File))
	if err != nil {
		t.Fatal(err)
	}
	want, err := generate(r)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(root, document))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what %s and performance.md.tmpl make: run go run -C _benchmark ./performance -write", document, results.File)
	}
}

// TestGenerate: a target that is missed shows in its row, in the list and in the count, and
// one that is met in its row and the count.
func TestGenerate(t *testing.T) {
	r, err := results.Load(filepath.Join("..", "..", results.File))
	if err != nil {
		t.Fatal(err)
	}
	var rows []results.Row
	for _, row := range r.Rows {
		if strings.HasPrefix(row.ID, "gateway/") {
			continue
		}
		rows = append(rows, row)
	}
	r.Rows = append(rows,
		results.Of("gateway/one-by-one/tags/frame", "a frame", "a proxy", "µs", []float64{10, 10, 10}, []float64{9.9, 10, 10.1}),
		results.Of("gateway/one-by-one/fields/frame", "a field", "a proxy", "µs", []float64{10, 10, 10}, []float64{11.4, 11.6, 11.6}))
	text, err := generate(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| a frame | a proxy | 10 µs | 10 µs | 1 | 0.99 … 1.01 | ≤ 1 | met |\n",
		"| a field | a proxy | 10 µs | 11.6 µs | 1.16 | 1.14 … 1.16 | ≤ 1 | **missed** |\n",
		"- a field, against a proxy: 1.16, target ≤ 1\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the document lacks %q", want)
		}
	}
	if strings.Contains(text, "- a frame, against") {
		t.Error("a target that is met is listed as missed")
	}
}
