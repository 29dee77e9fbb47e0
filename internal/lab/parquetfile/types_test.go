package parquetfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// fromLines writes records as a Parquet file, and returns it.
func fromLines(lines []string) ([]byte, *Types, error) {
	types := NewTypes(3)
	for _, line := range lines {
		if err := types.Add([]byte(line)); err != nil {
			return nil, types, err
		}
	}
	var out bytes.Buffer
	table, err := NewTableBeside(&out, types.Columns(), new(found), prefix)
	if err != nil {
		return nil, types, err
	}
	for i, line := range lines {
		if err := types.Put(table, []byte(line)); err != nil {
			return nil, types, err
		}
		if err := table.EndBeside(foundIn(i)); err != nil {
			return nil, types, err
		}
	}
	err = table.Close()
	return out.Bytes(), types, err
}

// drawJSON draws a value. Objects have members of few names, so that rows have the same.
func drawJSON(t *rapid.T, depth int) any {
	switch kind := rapid.IntRange(0, 8).Draw(t, "kind"); {
	case kind == 0:
		return rapid.Bool().Draw(t, "bool")
	case kind == 1:
		return json.Number(fmt.Sprint(rapid.Int64().Draw(t, "integer")))
	case kind == 2:
		return json.Number(rapid.SampledFrom([]string{"0.5", "-0", "1e3", "1e400", "-2.5E-7", "18446744073709551615", "1.0"}).Draw(t, "number"))
	case kind == 3 && depth > 0:
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "length") {
			list = append(list, drawJSON(t, depth-1))
		}
		return list
	case kind == 4 && depth > 0:
		return drawObject(t, depth-1)
	case kind == 5:
		return nil
	}
	return rapid.SampledFrom([]string{"", "a", "true", "null", "{\"a\":1}", "ü\n\"", "\u0000"}).Draw(t, "text")
}

func drawObject(t *rapid.T, depth int) map[string]any {
	object := map[string]any{}
	for range rapid.IntRange(0, 4).Draw(t, "members") {
		object[rapid.SampledFrom([]string{"id", "raw", "a.b", "", "messages"}).Draw(t, "name")] = drawJSON(t, depth)
	}
	return object
}

// TestRecordsComeBack: records that became a Parquet file are read as the records that they
// were, whatever their members are, but for members that are missing, which are null, and
// for how a fraction is written.
func TestRecordsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var lines []string
		for range rapid.IntRange(0, 6).Draw(t, "rows") {
			line, err := json.Marshal(drawObject(t, 2))
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, string(line))
		}
		data, types, err := fromLines(lines)
		if err != nil {
			t.Fatal(err)
		}
		text, err := readAll(data)
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		for i, line := range lines {
			want, have := decoded(t, line), decoded(t, got[i])
			for _, c := range types.Columns() {
				if _, ok := want[c.Name]; !ok {
					want[c.Name] = nil
				}
			}
			for _, name := range []string{"x_answer", "x_spans", "x_ok"} {
				delete(have, name)
			}
			if a, b := fmt.Sprintf("%#v", have), fmt.Sprintf("%#v", want); a != b {
				t.Fatalf("record %d of %q is read as %s, types %v", i, lines, got[i], types.Columns())
			}
			if !strings.HasSuffix(got[i], foundJSON(i)+"}") {
				t.Fatalf("record %d has %s beside it, want %s", i, got[i], foundJSON(i))
			}
		}
	})
}

// decoded decodes an object. Fractions are the nearest double, and others stay as they are.
func decoded(t *rapid.T, line string) map[string]any {
	d := json.NewDecoder(strings.NewReader(line))
	d.UseNumber()
	object := map[string]any{}
	if err := d.Decode(&object); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	for name, v := range object {
		if n, ok := v.(json.Number); ok && n != "-0" {
			if f, err := n.Float64(); err == nil && (strings.ContainsAny(n.String(), ".eE") || f < 1<<53 && f > -1<<53) {
				object[name] = f
			}
		}
	}
	return object
}

// TestTypes: a column has the type that holds all of its values, and what has none is JSON,
// which is said.
func TestTypes(t *testing.T) {
	for _, test := range []struct {
		values, want, note string
	}{
		{`1 2`, "int64", ""},
		{`1 null`, "int64", ""},
		{`null null`, "string", ""},
		{`1 2.5`, "double", ""},
		{`2.5 1`, "double", ""},
		{`9007199254740993 2.5`, "json", "integers that a double does not hold"},
		{`9223372036854775808`, "json", ""},
		{`"a" "b"`, "string", ""},
		{`true false`, "boolean", ""},
		{`{} [1]`, "json", ""},
		{`1 null "a"`, "json", "as in records 1 and 3 (string)"},
		{`"a" [1]`, "json", "as in records 1 and 2 (json)"},
	} {
		types := NewTypes(0)
		for value := range strings.FieldsSeq(test.values) {
			if err := types.Add([]byte(`{"a":` + value + `}`)); err != nil {
				t.Fatal(err)
			}
		}
		got, notes := types.Columns()[0].Type, strings.Join(types.Notes(), "\n")
		if got != Type(test.want) || (notes == "") != (test.note == "") || !strings.Contains(notes, test.note) {
			t.Errorf("%s: %s, %q; want %s, %q", test.values, got, notes, test.want, test.note)
		}
	}
}

// TestTypesFaults: what cannot be a row is said, with the record and the member.
func TestTypesFaults(t *testing.T) {
	var wide strings.Builder
	for i := range maxColumns {
		fmt.Fprintf(&wide, `,"m%d":1`, i)
	}
	for line, want := range map[string]string{
		`{"a":1,"b":2,"a":3}`:               "record 2 has the member \"a\" twice",
		`{"a":1`:                            "record 2 is not valid JSON",
		`{` + wide.String()[1:] + `}`:       "record 2: \"m2045\" is the member with number 2046",
		strings.Repeat(`{"a":`, 2000) + "1": "record 2 nests deeper",
	} {
		_, _, err := fromLines([]string{`{}`, line})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v, want %s", line, err, want)
		}
	}
}
