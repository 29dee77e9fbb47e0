package scoring

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/answer"
)

// TestPartsAddUp counts replies in one place, and in parts that are written down and read
// again. The summaries are the same. Reading a part does not change another.
func TestPartsAddUp(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	one, sum := newScores(), NewScores()
	for range 7 {
		part := newScores()
		for range r.IntN(200) {
			arm, ok := fmt.Sprint("arm ", r.IntN(3)), r.IntN(2) == 0
			problem, vote := digestOf(arm, fmt.Sprint(r.IntN(20))), digestOf(fmt.Sprint(ok, r.IntN(3)))
			was := &Result{Extraction: answer.Extraction{Method: fmt.Sprint(r.IntN(3))}, Verdict: answer.Verdict{OK: ok, Reason: answer.Reason(fmt.Sprint(ok))}}
			p := &Posed{Raw: strings.Repeat("x", r.IntN(5000)), logged: []byte("true")}
			for _, s := range []*Scores{one, part} {
				s.add(p, was)
				s.arm(arm).add(p, was)
				s.sample(problem, &vote, ok)
				s.arm(arm).sample(problem, &vote, ok)
			}
		}
		data, err := part.Counts()
		if err != nil {
			t.Fatal(err)
		}
		var groups bytes.Buffer
		if err := part.WriteGroups(&groups); err != nil {
			t.Fatal(err)
		}
		if err := sum.AddPart(data, &groups); err != nil {
			t.Fatal(err)
		}
	}
	if a, b := one.Summary(), sum.Summary(); !reflect.DeepEqual(a, b) {
		t.Errorf("in parts:\n%+v\nin one:\n%+v", b, a)
	}
}

// TestHostileParts gives counts and groups that no shard writes.
func TestHostileParts(t *testing.T) {
	zero := strings.Repeat("0", 32)
	for _, test := range []struct{ counts, groups, want string }{
		{`null`, "", "a count that cannot be"},
		{`{"lines":[1,2]}`, "", "2 of 1 is not a count"},
		{`{"lines":[-1,-1]}`, "", "not a count"},
		{`{"lines":[9007199254740993,0]}`, "", "not a count"},
		{`{"failed":-1}`, "", "a count that cannot be"},
		{`{"reasons":{"ok":-1}}`, "", "a count that cannot be"},
		{`{"lengths":{"65":[1,1]}}`, "", "a count that cannot be"},
		{`{"lengths":{"-1":[1,1]}}`, "", "a count that cannot be"},
		{`{"by":{"a":null}}`, "", "a count that cannot be"},
		{`{"by":{"a":{"failed":-1}}}`, "", "a count that cannot be"},
		{strings.Repeat(`{"by":{"a":`, 600), "", "nests deeper"},
		{`{}`, `{"problem":"00","replies":[1,1]}`, "is not a digest"},
		{`{}`, `{"problem":"` + zero + `","replies":[1,1],"votes":{"` + zero + `":[2,1]}}`, "a count that cannot be"},
		{`{}`, `{"problem":"` + zero + `","replies":[1,1],"by":"a"}`, "no scores of its value"},
		{`{}`, "{}\n[", "line 2 of the groups"},
	} {
		err := NewScores().AddPart([]byte(test.counts), strings.NewReader(test.groups))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%.80s %.80s: %v, want %s", test.counts, test.groups, err, test.want)
		}
	}
}
