package npm_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// kinds are the tables of a record.
var kinds = []string{"replies", "thoughts", "calls", "cycles", "extractions", "verdicts", "edges"}

// writeTables writes the tables of a record with runs, tools and verdicts.
func writeTables(t *testing.T) (folder string) {
	t.Helper()
	folder = t.TempDir()
	sotto := buildSotto(t, t.TempDir())
	study := filepath.Join(t.TempDir(), "study")
	do := func(args ...string) {
		t.Helper()
		command := exec.Command(sotto, args...)
		command.Env = append(os.Environ(), "XDG_STATE_HOME="+t.TempDir())
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", args, err, out)
		}
	}
	do("run", "--name", "leap-years", "--record", filepath.Join(study, "records", "worker-1"))
	do("solve", "-n", "8", "-o", filepath.Join(t.TempDir(), "out"), "--record", filepath.Join(study, "records", "worker-2"))
	for _, kind := range kinds {
		for _, format := range []string{"parquet", "csv", "jsonl"} {
			do("record", "table", kind, study, "-o", filepath.Join(folder, kind+"."+format))
		}
	}
	return folder
}

// TestTablesForDuckDB: DuckDB reads the same rows from the tables in all formats, with
// real types.
func TestTablesForDuckDB(t *testing.T) {
	if os.Getenv("SOTTO_NPM") == "" {
		t.Skip("SOTTO_NPM is not set: interop/npm/install prints it")
	}
	decoder := json.NewDecoder(bytes.NewReader(duckDB(t, "table.mjs", writeTables(t))))
	for range kinds {
		var got struct {
			Name    string
			Columns []string
			Rows    int
			JSONL   struct{ Rows, Lost int }
			CSV     struct{ Rows, Lost int }
		}
		if err := decoder.Decode(&got); err != nil {
			t.Fatal(err)
		}
		if got.Rows == 0 || got.JSONL.Rows != got.Rows || got.CSV.Rows != got.Rows || got.JSONL.Lost+got.CSV.Lost > 0 {
			t.Errorf("%+v", got)
		}
		if !slices.Equal(got.Columns[:5], []string{"record VARCHAR", "seq BIGINT", "time TIMESTAMP WITH TIME ZONE", "run VARCHAR", "cycle BIGINT"}) {
			t.Errorf("%s has the columns %q", got.Name, got.Columns)
		}
	}
}

// samePandas compares each table that pandas reads from CSV with the JSON Lines. pandas
// takes an empty text for a value that is missing.
const samePandas = `
import json, sys, pandas
for kind in sys.argv[2:]:
    table = pandas.read_csv(f"{sys.argv[1]}/{kind}.csv")
    rows = [json.loads(line) for line in open(f"{sys.argv[1]}/{kind}.jsonl")]
    assert len(rows) == len(table) and list(rows[0]) == list(table.columns), kind
    for name in table.columns:
        for got, row in zip(table[name], rows):
            want = row[name]
            assert pandas.isna(got) if want is None or want == "" else got == want or str(got) == want, (kind, name, got, want)
    print(kind)
`

// TestTablesForPandas: pandas reads from CSV what the JSON Lines say.
func TestTablesForPandas(t *testing.T) {
	python := "/usr/bin/python3" // whose packages are those of Debian
	if err := exec.Command(python, "-c", "import pandas").Run(); err != nil {
		t.Skip("pandas is missing: apt-get install python3-pandas")
	}
	out, err := exec.Command(python, append([]string{"-c", samePandas, writeTables(t)}, kinds...)...).CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != strings.Join(kinds, "\n") {
		t.Errorf("%v: %s", err, out)
	}
}
