package scoring

import (
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/answer"
)

func TestGolds(t *testing.T) {
	abcd := `["Lima","Rome","Oslo","2"]`
	for _, c := range []struct {
		task          answer.Task
		gold, options string
		want          []string
	}{
		{answer.Math, `"\\frac{1}{2}"`, "", []string{`\frac{1}{2}`}},
		{answer.Math, `["\\frac{1}{2}"]`, "", []string{`\frac{1}{2}`}},
		{answer.Math, `["1","2"]`, "", []string{"1", "2"}},
		{answer.Math, `"We add.\nSo it is $\\boxed{\\frac{1}{2}}$, as 1 of 2."`, "", []string{`\frac{1}{2}`}},
		{answer.Math, `"one line with \\boxed{7} in it"`, "", []string{"7"}},
		{answer.Math, `"\\begin{pmatrix}\n1\\\\\n2\n\\end{pmatrix}"`, "", []string{"\\begin{pmatrix}\n1\\\\\n2\n\\end{pmatrix}"}},
		{answer.Math, `18`, "", []string{"18"}},
		{answer.Math, `null`, "", nil},
		{answer.GSM8K, `"He has 20.\n#### 18"`, "", []string{"18"}},
		{answer.GSM8K, `"He has 20 <<10*2=20>>.\n#### 1,018\n"`, "", []string{"1,018"}},
		{answer.GSM8K, `"#### 5 apples\nThat is all 7 of them."`, "", []string{"5 apples"}},
		{answer.Number, `2.5`, "", []string{"2.5"}},
		{answer.Choice, `"B"`, abcd, []string{"B"}},
		{answer.Choice, `1`, abcd, []string{"B"}},
		{answer.Choice, `0`, "", []string{"A"}},
		{answer.Choice, `"1"`, abcd, []string{"B"}},
		{answer.Choice, `"2"`, abcd, []string{"D"}},
		{answer.Choice, `["A"]`, abcd, []string{"A"}},
		{answer.Choice, `["C","A"]`, abcd, []string{"A, C"}},
		{answer.Choice, `[0,3]`, abcd, []string{"A, D"}},
		{answer.Choice, `"ABD"`, abcd, []string{"A, B, D"}},
		{answer.Choice, `"CAB"`, abcd, []string{"CAB"}},
		{answer.Choice, `"Rome"`, abcd, []string{"B"}},
		{answer.Choice, `"1"`, `{"text":["Lima","Rome"],"label":["1","2"]}`, []string{"A"}},
		{answer.Choice, `"b"`, `{"a":"Lima","b":"Rome"}`, []string{"B"}},
		{answer.Choice, `"C"`, `{"C":"x","A":"y","B":"z"}`, []string{"C"}},
		{answer.Choice, `"k2"`, `[{"key":"k1","text":"Lima"},{"key":"k2","text":"Rome"}]`, []string{"B"}},
		{answer.Choice, `2`, `{"1":"Lima","2":"Rome"}`, []string{"B"}},
		{answer.YesNo, `true`, "", []string{"true"}},
		{answer.YesNo, `0`, "", []string{"no"}},
		{answer.YesNo, `["yes"]`, "", []string{"yes"}},
		{answer.QA, `{"text":["Rome","Rome, Italy"],"answer_start":[5,5]}`, "", []string{"Rome", "Rome, Italy"}},
		{answer.QA, `{"value":"Rome","aliases":["Roma"],"type":"X"}`, "", []string{"Rome", "Roma"}},
		{answer.Countdown, `{"target":3,"numbers":[1,2]}`, "", []string{`{"target":3,"numbers":[1,2]}`}},
		{answer.JSON, `["a"]`, "", []string{`["a"]`}},
	} {
		got, err := golds(c.task, c.gold, c.options)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s %s of %s: %q, %v, want %q", c.task.Name(), c.gold, c.options, got, err, c.want)
		}
	}
	for _, c := range []struct {
		task                answer.Task
		gold, options, want string
	}{
		{answer.Math, `[]`, "", "0 right answers"},
		{answer.Math, `{"solution":"x"}`, "", "an object without"},
		{answer.Math, `"First we add.\nThen we multiply."`, "", "2 lines without"},
		{answer.Math, `"It is \\boxed{7"`, "", "not closed"},
		{answer.Math, `[["1"]]`, "", "not a text"},
		{answer.GSM8K, `"He has 20.\n####"`, "", "nothing follows"},
		{answer.Choice, `4`, abcd, "want 0 to 3"},
		{answer.Choice, `-1`, abcd, "want 0 to 3"},
		{answer.Choice, `""`, abcd, "missing"},
		{answer.Choice, `["Rome","Paris"]`, abcd, "not an option"},
		{answer.Choice, `"A"`, `{"first":"x"}`, "without options"},
		{answer.Choice, `"A"`, `5`, "not a list"},
		{answer.Choice, `"A"`, `{"text":["x","y"],"label":["A"]}`, "1 labels for 2"},
	} {
		if got, err := golds(c.task, c.gold, c.options); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s of %s: %q, %v, want an error with %q", c.task.Name(), c.gold, c.options, got, err, c.want)
		}
	}
}

func golds(task answer.Task, gold, options string) ([]string, error) {
	var value []byte
	if options != "" {
		value = []byte(options)
	}
	choices, err := ReadChoices(value)
	if err != nil {
		return nil, err
	}
	return Golds(task, []byte(gold), choices)
}
