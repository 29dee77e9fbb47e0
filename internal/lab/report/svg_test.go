package report

import (
	"strings"
	"testing"
)

// A text from others stays a text: in an element, in an attribute, of whatever type it is.
func TestTextsAreEscaped(t *testing.T) {
	type kind string
	const hostile = "\"><script>\x1b[31m\u202e\r\n&"
	s := NewSVG(10, 20)
	s.Add(`<text class="%s">%s</text>`, kind(hostile), hostile)
	const shown = "&#34;&gt;&lt;script&gt;␛[31m\\u202e⏎&amp;"
	const want = `<svg xmlns="http://www.w3.org/2000/svg" role="group" viewBox="0 0 10 20" width="10" height="20"><text class="` + shown + `">` + shown + `</text></svg>`
	if got := string(s.HTML()); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// Cells are written as they are, and only those that are made harmless differ.
func TestCSV(t *testing.T) {
	table := Table{Name: "t", Columns: []string{"a", "b"}, Rows: [][]string{{"=1", Harmless("=1")}, {"x,\"y\"", Harmless("1=")}}}
	data, err := table.CSV()
	if want := "a,b\n=1,'=1\n\"x,\"\"y\"\"\",1=\n"; err != nil || string(data) != want {
		t.Errorf("%q, %v, want %q", data, err, want)
	}
	list, err := Files([]Table{table})
	if err != nil || len(list) != 1 || list[0].Name != "t.csv" || !strings.HasPrefix(string(list[0].Data), "a,b\n") {
		t.Errorf("%v, %v", list, err)
	}
}
