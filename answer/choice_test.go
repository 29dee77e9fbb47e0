package answer

import "testing"

func TestChoiceNormalise(t *testing.T) {
	for _, c := range []struct{ written, want string }{
		{"B", "B"}, {"b", "B"}, {"(B)", "B"}, {"(b)", "B"}, {"B.", "B"}, {"B)", "B"}, {"[B]", "B"}, {"b.", "B"},
		{"**B**", "B"}, {"**(B)**", "B"}, {"*B*", "B"}, {"`B`", "B"}, {"$B$", "B"}, {`\boxed{B}`, "B"}, {`\boxed{\text{(B)}}`, "B"},
		{`\(\boxed{B}\)`, "B"}, {"Ｂ", "B"}, {"（Ｂ）", "B"}, {": B", "B"}, {"：B", "B"},
		{"B. Paris", "B"}, {"(B) Paris", "B"}, {"B) Paris", "B"}, {"B: Paris", "B"}, {"B - Paris", "B"}, {"B (Paris)", "B"}, {"(B)Paris", "B"},
		{"B because it is the capital", "B"}, {"(B) because it is the capital", "B"}, {"B, as it is the capital", "B"}, {"B is correct", "B"},
		{"option B", "B"}, {"Option (B).", "B"}, {"choice B", "B"}, {"Answer: B", "B"}, {"Answer:B", "B"}, {"The correct answer is (B) because…", "B"},
		{"The answer is **B**.", "B"}, {"the best answer is: C", "C"}, {"A.", "A"}, {"A because", "A"}, {"a) dog", "A"},
		{"A, C", "A, C"}, {"A and C", "A, C"}, {"(C) and (A)", "A, C"}, {"A, B, and D", "A, B, D"}, {"B, B", "B"},
		{"A or C", "A or C"}, {"A/C", "A or C"},
		{"A dog", "A dog"}, {"a dog", "a dog"}, {"Let's think", "Let's think"}, {"B cells", "B cells"}, {"X-ray", "X-ray"}, {"C major", "C major"},
		{"J. K. Rowling", "J. K. Rowling"}, {"Option pricing", "Option pricing"}, {"The answer is Paris", "Paris"}, {"", ""},
		{"None of the above", "None of the above"}, {"I think so", "I think so"},
	} {
		if got := Choice.Normalise(c.written); got != c.want {
			t.Errorf("%q: %q, want %q", c.written, got, c.want)
		}
	}
}

func TestChoiceValidate(t *testing.T) {
	cities := []string{"London", "Paris", "A dog", "The Hague"}
	for _, c := range []struct {
		written, gold string
		options       []string
		want          Reason
	}{
		{"B", "B", nil, ReasonOK},
		{"b)", "(B)", nil, ReasonOK},
		{"Paris", "B", cities, ReasonOK},
		{"paris.", "B", cities, ReasonOK},
		{"B", "Paris", cities, ReasonOK},
		{"A dog", "C", cities, ReasonOK},
		{"dog", "C", cities, ReasonOK},
		{"Hague", "D", cities, ReasonOK},
		{"Paris", "Paris", nil, ReasonOK},
		{"A, C", "C, A", nil, ReasonOK},
		{"A", "B", cities, Different},
		{"A dog", "A", cities, Different},
		{"London", "B", cities, Different},
		{"A dog", "A", nil, FormatError},
		{"Let's think", "L", nil, FormatError},
		{"Berlin", "B", cities, FormatError},
		{"E", "B", cities, FormatError},
		{"A or B", "B", nil, FormatError},
		{"A and B", "B", nil, FormatError},
		{"", "B", nil, Empty},
		{"B", "", nil, BadGold},
	} {
		v := Choice.Validate(Choice.Normalise(c.written), Problem{Gold: c.gold, Options: c.options})
		if v.Reason != c.want || v.OK != (c.want == ReasonOK) {
			t.Errorf("%q against %q: %+v, want %s", c.written, c.gold, v, c.want)
		}
	}
}

func TestChoiceFind(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"So the correct answer is (B) because it is a dog.", "(B)"},
		{"I think the answer is B.", "B"},
		{"The answer is (A). No, wait. The answer is (C).", "(C)"},
		{"Answer: C\nThat was it.", "C"},
		{"Therefore (D) is the correct answer.", "(D)"},
		{"B is correct", "B"},
		{`Hence \boxed{\text{C}}.`, `\text{C}`},
		{"the answer is **D**", "D"},
		{"the answer is A or C.", "A or C"},
		{"The answer is A dog", ""},
		{"the answer is not B", ""},
		{"option B is wrong", ""},
		{"I like (B)", ""},
		{"the answer is J. K. Rowling", ""},
		{"", ""},
	} {
		got := Extract(Choice, c.text, Problem{}, Options{}).Written
		if got != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
}

func TestChoicePrecheck(t *testing.T) {
	three := Problem{Options: []string{"x", "y", "z"}}
	for line, want := range map[string]bool{
		"B": true, "(B)": true, "**B**": true, "B.": true, "(b)": true, "B. Paris": false, "D": false, "b": false, "": false, "Both": false, "Option B": true,
	} {
		if got := Choice.Precheck(line, three); got != want {
			t.Errorf("%q: %v, want %v", line, got, want)
		}
	}
}

func TestChoiceDistil(t *testing.T) {
	if q, _ := Choice.Distil(Problem{Input: "Which  one?", Options: []string{"x", "y"}}, ""); q != "Which one? (A) x (B) y" {
		t.Errorf("%q", q)
	}
}

// TestTwoLetters: two letters never count for one, in whatever way the reply gives both.
func TestTwoLetters(t *testing.T) {
	for reply, want := range map[string]string{
		"Both A and C are correct.":    "",
		"Sowohl A als auch C stimmen.": "",
		"A rigor di logica sono vere sia la A sia la C; il quesito ne ammette una sola.": "",
		"B is correct, and so is C.":       "",
		"B stimmt, C auch.":                "",
		"La B est juste, la C aussi.":      "",
		"La B es correcta y la C también.": "",
		"A B está certa e a C também.":     "",
		"La B è giusta e anche la C.":      "",
		"B верно, C тоже.":                 "",
		"B是对的，C也对。":                        "",
		"Bが正しい。Cも正しい。":                     "",
		"B도 맞고 C도 맞아요.":                    "",
		"B is correct. Option C also mentions the river, but it is not the longest.": "B",
		"B is correct. C is also wrong.":                                             "B",
		"The answer is B. D is too long.":                                            "B",
	} {
		if x := Extract(Choice, reply, Problem{}, Options{}); x.Candidate != want {
			t.Errorf("%q: %q by %s, want %q", reply, x.Candidate, x.Method, want)
		}
	}
}
