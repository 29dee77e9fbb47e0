package npm_test

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/sotto-llm/sotto/internal/records"
)

// TestParquetOfDuckDB reads files that DuckDB wrote: in every compression, in both
// versions of pages, with and without dictionaries, and in several row groups. Each
// row equals the one that DuckDB writes as JSON.
func TestParquetOfDuckDB(t *testing.T) {
	dir := os.Getenv("SOTTO_NPM")
	if dir == "" {
		t.Skip("SOTTO_NPM is not set: interop/npm/install prints it")
	}
	folder := t.TempDir()
	if out, err := exec.Command(filepath.Join(dir, "node", "run"), filepath.Join(dir, "duckdb", "write.mjs"), folder).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want := readRows(t, filepath.Join(folder, "rows.json"))
	names, err := filepath.Glob(filepath.Join(folder, "*.parquet"))
	if err != nil || len(names) != 9 || len(want) != 3000 {
		t.Fatalf("%d files, %d rows, %v", len(names), len(want), err)
	}
	for _, name := range names {
		got := readRows(t, name)
		if len(got) != len(want) {
			t.Errorf("%s: %d rows", name, len(got))
			continue
		}
		for i := range got {
			if !reflect.DeepEqual(got[i], want[i]) {
				t.Errorf("%s, row %d:\n%v\nwant\n%v", filepath.Base(name), i+1, got[i], want[i])
				break
			}
		}
	}
}

// readRows reads the records of a file.
func readRows(t *testing.T, name string) (rows []map[string]any) {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	source, err := records.Open(records.Input{Reader: file, Name: name, File: file}, records.Settings{})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	defer source.Close()
	lines := bufio.NewScanner(source)
	for lines.Scan() {
		var row map[string]any
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatalf("%s: %v: %s", name, err, lines.Bytes())
		}
		rows = append(rows, row)
	}
	if err := lines.Err(); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return rows
}
