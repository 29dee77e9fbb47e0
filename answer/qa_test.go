package answer

import "testing"

func TestQA(t *testing.T) {
	for _, c := range []struct {
		written, gold string
		want          Reason
	}{
		{"Denver Broncos", "The Denver Broncos", ReasonOK},
		{"the denver broncos.", "Denver Broncos", ReasonOK},
		{"**Denver**", "Denver", ReasonOK},
		{"Finish[Denver Broncos]", "Denver Broncos", ReasonOK},
		{"Washington, D.C.", "Washington DC", ReasonOK},
		{"US", "United States|US|USA", ReasonOK},
		{"United States|US", "United States|US", ReasonOK},
		{"“Paris”", "Paris", ReasonOK},
		{"Broncos", "Denver Broncos", Different},
		{"Denver Broncos of 2015", "Denver Broncos", Different},
		{"?!", "?!", ReasonOK},
		{"?!", "!", Different},
		{"", "x", Empty},
		{"x", "", BadGold},
		{"x", " | ", BadGold},
	} {
		v := QA.Validate(QA.Normalise(c.written), Problem{Gold: c.gold})
		if v.Reason != c.want || v.OK != (c.want == ReasonOK) {
			t.Errorf("%q against %q: %+v, want %s", c.written, c.gold, v, c.want)
		}
	}
	if got := QA.Normalise("The Denver Broncos."); got != "The Denver Broncos" {
		t.Errorf("%q", got)
	}
}

func TestQAFind(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"Action 2: Finish[Denver]", "Denver"},
		{"Finish[a]\nFinish[b [c] d]\n", "b [c] d"},
		{"Finish[a]\nFinish[never closed\n]", "a"},
		{"Finish[Finish[x]", "x"},
		{"nothing", ""},
	} {
		got := ""
		if found := findFinish(c.text, Problem{}); len(found) > 0 {
			last := found[len(found)-1]
			got = c.text[last.Start:last.End]
		}
		if got != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
}
