package answer

import "testing"

func TestYesNo(t *testing.T) {
	for _, c := range []struct{ written, want string }{
		{"Yes", "yes"}, {"no.", "no"}, {"**Yes**", "yes"}, {"YES!", "yes"}, {`\boxed{\text{No}}`, "no"}, {"True", "yes"}, {"false", "no"},
		{"Yes, because it is.", "yes"}, {"No, it is not.", "no"}, {"No because it is", "no"}, {"Yes — it is", "yes"}, {"yes it is", "yes"},
		{"It is true.", "yes"}, {"The statement is false", "no"}, {"not true", "no"}, {"It's not correct", "no"}, {"\"Yes\"", "yes"},
		{"： Ｎｏ", "no"}, {"Definitely not", "no"}, {"Correct.", "yes"}, {"y", "yes"},
		{"No evidence supports this", "No evidence supports this"}, {"No one knows", "No one knows"}, {"Yes and no", "Yes and no"},
		{"yes/no", "yes/no"}, {"Nothing", "Nothing"}, {"Maybe", "Maybe"}, {"Yesterday", "Yesterday"}, {"Right angles", "Right angles"}, {"", ""},
		{"T.S. Eliot", "T.S. Eliot"}, {"N. K. Jemisin", "N. K. Jemisin"}, {"f.txt", "f.txt"}, {"T. It floats.", "yes"}, {"F.", "no"},
		{"I'm afraid not. They never meet.", "no"}, {"¡Por supuesto que puedes!", "yes"}, {"Это миф. Гуще они не становятся.", "no"}, {"It's a mythical beast", "It's a mythical beast"},
	} {
		if got := YesNo.Normalise(c.written); got != c.want {
			t.Errorf("%q: %q, want %q", c.written, got, c.want)
		}
	}
	for _, c := range []struct {
		candidate, gold string
		want            Reason
	}{
		{"yes", "Yes", ReasonOK}, {"no", "False", ReasonOK}, {"yes", "no", Different}, {"Maybe", "no", FormatError},
		{"", "no", Empty}, {"yes", "perhaps", BadGold}, {"yes", "", BadGold},
	} {
		if v := YesNo.Validate(c.candidate, Problem{Gold: c.gold}); v.Reason != c.want || v.OK != (c.want == ReasonOK) {
			t.Errorf("%q against %q: %+v, want %s", c.candidate, c.gold, v, c.want)
		}
	}
	for line, want := range map[string]bool{"Yes": true, "**No.**": true, "Yes, it is.": true, "No evidence.": false, "True, but": false, "n": false, "": false} {
		if got := YesNo.Precheck(line, Problem{}); got != want {
			t.Errorf("%q: %v, want %v", line, got, want)
		}
	}
}

// TestBareYesNo: a reply that begins with its answer is taken, unless a line further down
// gives the other one.
func TestBareYesNo(t *testing.T) {
	for reply, want := range map[string]string{
		"Yes, it floats.\nIce is lighter than water.":    "yes",
		"Yes, it floats.\nIce is lighter.\nYes.":         "yes",
		"Yes, it floats.\nWait.\nNo.":                    "",
		"No.\n\nOn second thought:\n\n**Yes, it does.**": "",
		"Yes, I know, many say so. But it cannot.":       "",
		"- No, it sinks.\n- No evidence speaks for it.":  "no",
	} {
		if got := bareYesNo(reply, Problem{}); YesNo.Normalise(reply[got.Start:got.End]) != want {
			t.Errorf("%q: %q, want %q", reply, reply[got.Start:got.End], want)
		}
	}
}
