package cli

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/sotto-llm/sotto/internal/lab/compare"
	"github.com/sotto-llm/sotto/internal/lab/parquetfile"
	"github.com/sotto-llm/sotto/internal/lab/study"
	"github.com/sotto-llm/sotto/internal/lab/studyreport/studytest"
)

// comparedBy runs sotto compare and returns its result.
func comparedBy(t *testing.T, args ...string) *compare.Result {
	t.Helper()
	status, out, errs := runWith(nil, append([]string{"compare", "--json"}, args...)...)
	r := new(compare.Result)
	if err := json.Unmarshal([]byte(out), r); err != nil || status != 0 {
		t.Fatalf("%q: status %d, %v: %s", args, status, err, errs)
	}
	return r
}

// An archive of Inspect (.eval) has a file for each sample: C, I, P and N are verdicts, epochs
// are replies to one problem, and a sample with an error has no verdict.
func TestCompareEvalArchive(t *testing.T) {
	var list []string
	for arm, verdicts := range map[string][]string{"good": {"C", "C", "C", "P", ""}, "bad": {"I", "C", "N", "I", "C"}} {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		for name, text := range map[string]string{"header.json": `{"version":2,"status":"success"}`, "summaries.json": `[]`, "journal/start.json": `{}`} {
			putMember(t, z, name, text)
		}
		for i, v := range verdicts {
			sample := fmt.Sprintf(`{"id":%d,"epoch":%d,"target":"4","messages":[],"output":{"choices":[]},"scores":{"match":{"value":%q,"answer":"4"}}}`, i/2, i%2+1, v)
			if v == "" {
				sample = fmt.Sprintf(`{"id":%d,"epoch":1,"target":"4","output":{"choices":[]},"error":{"message":"timeout"}}`, i/2)
			}
			putMember(t, z, fmt.Sprintf("samples/%d_epoch_%d.json", i/2, i%2+1), sample)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(t.TempDir(), arm+".eval")
		if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		list = append(list, name)
	}
	want := map[string]compare.Rate{"good": {Problems: 2, Replies: 4, Failed: 1, Right: 3.5}, "bad": {Problems: 3, Replies: 5, Right: 2}}
	for _, x := range comparedBy(t, list...).Rates {
		if w := want[x.Arm]; x.Problems != w.Problems || x.Replies != w.Replies || x.Failed != w.Failed || x.Right != w.Right {
			t.Errorf("%+v", x)
		}
	}
}

func putMember(t *testing.T, z *zip.Writer, name, text string) {
	t.Helper()
	w, err := z.Create(name)
	if err == nil {
		_, err = w.Write([]byte(text))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A Parquet file has the arm in a column.
func TestCompareParquet(t *testing.T) {
	var b bytes.Buffer
	table := parquetfile.NewTable(&b, []parquetfile.Column{{Name: "id", Type: parquetfile.Text}, {Name: "model", Type: parquetfile.Text}, {Name: "correct", Type: parquetfile.Truth}})
	for i := range 20 {
		for _, arm := range []string{"a", "b"} {
			table.Text(fmt.Sprint(i))
			table.Text(arm)
			table.Truth(arm == "b" || i%4 == 0)
			if err := table.End(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := table.Close(); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "rows.parquet")
	if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	r := comparedBy(t, "--by-field", "model", name)
	if d := r.Differences; len(d) != 1 || d[0].Problems != 20 || d[0].More != 15 || d[0].Less != 0 || d[0].Mean != 0.75 {
		t.Errorf("%+v", d)
	}
}

// The folder of a study of streams: the values of the grid are the arms.
func TestCompareStudyFolder(t *testing.T) {
	dir := t.TempDir()
	studytest.Streams(t, dir, studytest.Grid{Models: []string{"m"}, Modes: []string{"io", "cot"}, Repetitions: 2, Size: 9})
	s, err := study.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]bool{}
	for i := range s.Cells {
		values[s.Cells[i].Value("mode")] = true
	}
	r := comparedBy(t, dir, "--key", "mode")
	if len(r.Rates) != len(values) || len(values) < 2 {
		t.Errorf("%d rates of %d values", len(r.Rates), len(values))
	}
	for _, x := range r.Rates {
		if !values[x.Arm] || x.Problems == 0 || x.Replies < x.Problems {
			t.Errorf("%+v", x)
		}
	}
}
