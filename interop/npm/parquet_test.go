package npm_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/sotto-llm/sotto/internal/lab/inputfiles"
)

// TestParquetOfDuckDB reads files that DuckDB wrote: in every compression, in both
// versions of pages, with and without dictionaries, and in several row groups. Each
// row equals the one that DuckDB writes as JSON.
func TestParquetOfDuckDB(t *testing.T) {
	folder := t.TempDir()
	duckDB(t, "write.mjs", folder)
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

// duckDB runs a script of the folder duckdb, and returns what it prints.
func duckDB(t *testing.T, script, folder string) []byte {
	t.Helper()
	dir := os.Getenv("SOTTO_NPM")
	if dir == "" {
		t.Skip("SOTTO_NPM is not set: interop/npm/install prints it")
	}
	var errs bytes.Buffer
	command := exec.Command(filepath.Join(dir, "node", "run"), filepath.Join(dir, "duckdb", script), folder)
	command.Stderr = &errs
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%s: %v: %s", script, err, errs.String())
	}
	return out
}

// A comparison is what DuckDB says of a file that Sotto wrote.
type comparison struct {
	Name          string
	Before, After []string // columns and their types
	Lost, Made    int      // rows, with their numbers
	First         []map[string]any
	Sums          map[string]any
}

// TestParquetForDuckDB: DuckDB reads what sotto score writes for the files that DuckDB
// wrote. The old columns have the same names, types and values in the same order, and
// the new ones have the results.
func TestParquetForDuckDB(t *testing.T) {
	folder := t.TempDir()
	duckDB(t, "write.mjs", folder)
	names, err := filepath.Glob(filepath.Join(folder, "*.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(folder, "out"), 0o700); err != nil {
		t.Fatal(err)
	}
	sotto := buildSotto(t, t.TempDir())
	for _, name := range names {
		score := exec.Command(sotto, "score", "--task", "number", "-o", filepath.Join(folder, "out", filepath.Base(name)), name)
		if out, err := score.CombinedOutput(); score.ProcessState.ExitCode() != 1 { // rows without a reply
			t.Fatalf("%s: %v: %s", name, err, out)
		}
	}
	decoder := json.NewDecoder(bytes.NewReader(duckDB(t, "compare.mjs", folder)))
	for range names {
		var c comparison
		if err := decoder.Decode(&c); err != nil {
			t.Fatal(err)
		}
		if c.Lost != 0 || c.Made != 0 || len(c.Before) != 17 || !slices.Equal(c.Before, c.After[:len(c.Before)]) {
			t.Errorf("%s: %d rows differ, %d are new, columns %q, were %q", c.Name, c.Lost, c.Made, c.After, c.Before)
		}
		if got := c.After[len(c.Before):]; !slices.Equal(got, scoreColumns) {
			t.Errorf("%s: the new columns are %q", c.Name, got)
		}
		if got := fmt.Sprint(c.Sums); got != "map[attempts:5142 errors:429 ok:2571 rows:3000]" {
			t.Errorf("%s: %s", c.Name, got)
		}
		one := c.First[1]
		if fmt.Sprintf("%v %v %v", one["sotto_candidate"], one["sotto_span"], one["sotto_ok"]) != "1 [33 34] true" || c.First[7]["sotto_error"] != "field raw is not a string" {
			t.Errorf("%s: the first rows have %v", c.Name, c.First)
		}
	}
}

// scoreColumns are the columns of sotto score, with DuckDB's types.
var scoreColumns = []string{
	"sotto_candidate VARCHAR", "sotto_method VARCHAR", "sotto_span BIGINT[]", "sotto_status VARCHAR", "sotto_rules VARCHAR",
	`sotto_attempts STRUCT("method" VARCHAR, found BIGINT, span BIGINT[], why VARCHAR)[]`,
	"sotto_ok BOOLEAN", "sotto_reason VARCHAR", "sotto_detail VARCHAR", "sotto_by VARCHAR", "sotto_error VARCHAR",
}

// readRows reads the records of a file.
func readRows(t *testing.T, name string) (rows []map[string]any) {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	source, err := inputfiles.Open(inputfiles.Input{Reader: file, Name: name, File: file}, inputfiles.Settings{})
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
