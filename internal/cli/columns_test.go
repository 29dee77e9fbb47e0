package cli

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/lab/inputfiles"
)

// rowsOf returns the rows of a Parquet file as lines of JSON.
func rowsOf(t *testing.T, name string) (lines []string) {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	source, err := inputfiles.Open(inputfiles.Input{Reader: file, Name: name, File: file}, inputfiles.Settings{Format: inputfiles.Parquet})
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	scanner := bufio.NewScanner(source)
	for scanner.Scan() {
		lines = append(lines, scanner.Text())
	}
	return lines
}

// membersOf returns the members of a record that are not null or empty.
func membersOf(t *testing.T, line string) map[string]any {
	t.Helper()
	var all any
	if err := json.Unmarshal([]byte(line), &all); err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	return withoutNull(all).(map[string]any)
}

func withoutNull(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			if list, ok := member.([]any); member == nil || ok && len(list) == 0 {
				delete(v, name)
			}
			withoutNull(member)
		}
	case []any:
		for _, element := range v {
			withoutNull(element)
		}
	}
	return v
}

// TestRecordsAsParquet: records of every format become the Parquet file that has the members
// which they have as JSON Lines with new members, also where a record fails, and paths lead
// into it as into the records.
func TestRecordsAsParquet(t *testing.T) {
	lines := parquetLines + "{\"id\":3,\"raw\":\n" + `{"id":4,"gold":5,"score":0.25,"raw":"5"}` + "\n"
	inputs := []string{
		writeFile(t, "in.jsonl", lines), writeFile(t, "in.jsonl.gz", string(gzipped(t, lines))),
		writeFile(t, "in.json", "["+strings.ReplaceAll(strings.TrimSpace(parquetLines), "\n", ",")+"]"),
		writeFile(t, "in.csv", "id,raw,gold\n1,The answer is 5.,5\n2,\"Answer: 7\",7\n"),
	}
	for _, args := range [][]string{{"strip", "--field", "raw"}, {"split"}, {"extract", "--task", "math"}, {"score", "--task", "math"}} {
		for _, input := range inputs {
			out := filepath.Join(t.TempDir(), "out.parquet")
			args := append(args, "--jsonl", input)
			want, _, status := runSotto(t, "", append(args, "--add-columns")...)
			if _, errs, now := runSotto(t, "", append(args, "-o", out)...); now != status {
				t.Fatalf("%q: status %d, and %d as Parquet: %s", args, status, now, errs)
			}
			got := rowsOf(t, out)
			for i, line := range strings.Split(strings.TrimSpace(want), "\n") {
				wanted := membersOf(t, line)
				if failed, ok := wanted["error"]; ok { // a line that is not a record
					wanted = map[string]any{"sotto_error": failed}
				}
				if row := membersOf(t, got[i]); !reflect.DeepEqual(row, wanted) {
					t.Errorf("%q: row %d is\n%v\nwant\n%v", args, i+1, row, wanted)
				}
			}
			if left, _ := filepath.Glob(filepath.Join(filepath.Dir(out), ".*")); len(left) > 0 {
				t.Errorf("%q leaves %v", args, left)
			}
			if strings.Contains(input, "jsonl") {
				if text, errs, _ := runSotto(t, "", "split", "--jsonl", "--field", "messages.-1.content", out); !strings.Contains(text, `"visible":"7"`) {
					t.Errorf("a path into %s: %s%s", out, text, errs)
				}
			}
		}
	}
}

// TestAddColumns: every command writes the records with what it found as new members,
// after the old ones, which do not change. As Parquet and as JSON Lines, the members
// are the same, and they are those of the command's own objects.
func TestAddColumns(t *testing.T) {
	rows, lines := parquetFile(t, "in.parquet"), writeFile(t, "in.jsonl", parquetLines)
	folder := t.TempDir()
	for _, test := range []struct {
		args []string
		want string // of the first row
	}{
		{[]string{"strip", "--field", "raw"}, `{"sotto_visible":"The answer is 5."}`},
		{[]string{"strip", "--field", "messages.-1.content"}, `{"sotto_visible":"5"}`},
		{[]string{"strip", "--from", "messages"}, `{"sotto_visible":"5"}`},
		{[]string{"split"}, ""},
		{[]string{"split", "--from", "messages"}, ""},
		{[]string{"extract", "--task", "math", "--distill", "query"}, ""},
		{[]string{"score", "--task", "math"}, ""},
		{[]string{"extract", "--task", "math", "--with", "raw,reading"}, ""},
		{[]string{"score", "--task", "math", "--with", "reading"}, ""},
	} {
		name := strings.Join(test.args, " ")
		out := filepath.Join(folder, "out.parquet")
		if _, errs, status := runSotto(t, "", append(test.args, "-o", out, rows)...); status != 0 {
			t.Errorf("%s: status %d: %s", name, status, errs)
			continue
		}
		fromRows, _, _ := runSotto(t, "", append(test.args, "--add-columns", rows)...)
		fromLines, _, status := runSotto(t, "", append(test.args, "--jsonl", "--add-columns", lines)...)
		if status != 0 || strings.ReplaceAll(fromRows, `"at":"row `, `"at":"line `) != fromLines {
			t.Errorf("%s: of the rows\n%sof the lines\n%s", name, fromRows, fromLines)
		}
		results, _, _ := runSotto(t, "", append(test.args, rows)...)
		merged, objects, old := strings.Split(fromRows, "\n"), strings.Split(results, "\n"), strings.Split(parquetLines, "\n")
		written := rowsOf(t, out)
		if len(written) != 2 || len(merged) != 3 {
			t.Fatalf("%s: %d rows, %d lines", name, len(written), len(merged)-1)
		}
		for i, row := range written {
			head := strings.TrimSuffix(old[i], "}") + ","
			if !strings.HasPrefix(row, head) {
				t.Errorf("%s: the row\n%s\nwas\n%s", name, row, old[i])
			}
			added := membersOf(t, "{"+strings.TrimPrefix(row, head))
			if test.args[len(test.args)-1] != "messages" { // whose records are not the rows
				if got := membersOf(t, "{"+strings.TrimPrefix(merged[i], head)); !reflect.DeepEqual(got, added) {
					t.Errorf("%s: as Parquet %v, as JSON %v", name, added, got)
				}
			}
			if test.want != "" {
				if want := membersOf(t, test.want); i == 0 && !reflect.DeepEqual(added, want) {
					t.Errorf("%s: %v, want %v", name, added, want)
				}
				continue
			}
			object := membersOf(t, objects[i])
			delete(object, "v")
			delete(object, "id")
			for member, value := range object {
				if !reflect.DeepEqual(added["sotto_"+member], value) {
					t.Errorf("%s: %s is %v, want %v", name, member, added["sotto_"+member], value)
				}
			}
			if len(added) != len(object) {
				t.Errorf("%s: the new members are %v, want those of %v", name, added, object)
			}
		}
	}
}

// TestAddColumnsWhole: a file with new columns appears when it is whole. A run that
// ends before leaves the file that was there, and nothing else.
func TestAddColumnsWhole(t *testing.T) {
	rows := parquetFile(t, "in.parquet")
	data, err := os.ReadFile(rows)
	if err != nil {
		t.Fatal(err)
	}
	damaged := writeFile(t, "in.parquet", string(data[:5])+strings.Repeat("\xff", 50)+string(data[55:]))
	broken, twice := writeFile(t, "in.jsonl", parquetLines+"{}\n"), writeFile(t, "twice.jsonl", parquetLines+"{\"raw\":\"a\",\"raw\":\"b\"}\n")
	for name, args := range map[string][]string{
		"damaged":          {"score", "--task", "math", "-o", "out.parquet", damaged},
		"damaged to lines": {"split", "--add-columns", "-o", "out.jsonl", damaged},
		"strict":           {"strip", "--field", "raw", "--jsonl", "--strict", "-o", "out.jsonl", broken},
		"a name is taken":  {"split", "--column-prefix", "", "-o", "out.parquet", rows},
		"a member twice":   {"strip", "--field", "raw", "--jsonl", "-o", "out.parquet", twice},
	} {
		folder := t.TempDir()
		at := len(args) - 2
		out := filepath.Join(folder, args[at])
		args[at] = out
		if err := os.WriteFile(out, []byte("before"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, errs, status := runSotto(t, "", args...)
		left, err := os.ReadDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(out)
		if status == 0 || err != nil || string(text) != "before" || len(left) != 1 {
			t.Errorf("%s: status %d, %d files, %q: %s", name, status, len(left), text, errs)
		}
	}
}

// TestAddColumnsOfFaults: a row that fails keeps its columns, and has the error.
func TestAddColumnsOfFaults(t *testing.T) {
	rows, out := parquetFile(t, "in.parquet"), filepath.Join(t.TempDir(), "out.parquet")
	_, _, status := runSotto(t, "", "strip", "--field", "messages.1.content", "-o", out, rows)
	got := rowsOf(t, out)
	if status != 1 || len(got) != 2 || !strings.HasSuffix(got[0], `,"sotto_visible":"5","sotto_error":null}`) ||
		!strings.HasSuffix(got[1], `,"sotto_visible":null,"sotto_error":"field messages.1.content is missing"}`) {
		t.Errorf("status %d: %q", status, got)
	}
}
