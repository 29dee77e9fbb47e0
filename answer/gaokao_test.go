package answer_test

import (
	"testing"

	"github.com/sotto-llm/sotto/answer"
)

// TestGaokao: the answers of a reply are a list, as the gold is. Two letters never count for
// one, and no order counts for another.
func TestGaokao(t *testing.T) {
	two := "(1)【解析】甲。<eoe>\n【答案】C<eoa>\n(2)【解析】乙 A 错。<eoe>\n【答案】: A <eoa>"
	for _, tt := range []struct {
		reply, gold, candidate string
		ok                     bool
	}{
		{"【解析】……<eoe>\n【答案】D<eoa>", `["D"]`, "D", true},
		{"【解析】……<eoe>\n【答案】: A <eoa>", `["A"]`, "A", true},
		{"【答案】: A <eoa>", "A", "A", true},
		{"【答案】D <eoa>\n【解析】因为 A 错。<eoe>", `["D"]`, "D", true},
		{"【答案】（D）<eoa>", `["D"]`, "D", true},
		{"【答案】D. 北京<eoa>", `["D"]`, "D", true},
		{"【答案】B, C <eoa>", `["B"]`, "B, C", false},
		{"【答案】B, C <eoa>", `["C"]`, "B, C", false},
		{"【答案】BC<eoa>", `["B"]`, "B, C", false},
		{"【答案】B和C<eoa>", `["B"]`, "B, C", false},
		{"【答案】B；C", `["B"]`, "B, C", false},
		{"【答案】B C", `["C"]`, "B, C", false},
		{"【答案】['B', 'C']<eoa>", `["B"]`, "B, C", false},
		{"【答案】B或C<eoa>", `["B"]`, "B或C", false},
		{"【答案】B<eoa>", `["B","C"]`, "B", false},
		{"【答案】B、C<eoa>", `["BC"]`, "B, C", true},
		{"【答案】CB<eoa>", `["BC"]`, "C, B", true},
		{"【答案】B, C<eoa>", `["C","B"]`, "B, C", false},
		{"【答案】C, A, B<eoa>", `["C","A","B"]`, "C, A, B", true},
		{"【答案】1. C 2. A 3. C<eoa>", `["C","A","C"]`, "C, A, C", true},
		{two, `["C","A"]`, "C | A", true},
		{two, `["A","C"]`, "C | A", false},
		{two, `["AC"]`, "C | A", false},
		{two, `["C"]`, "C | A", false},
		{"所以选 B。", `["B"]`, "B", true},
	} {
		p := answer.Problem{Gold: tt.gold}
		x := answer.Extract(answer.Gaokao, tt.reply, p, answer.Options{})
		if v := answer.Gaokao.Validate(x.Candidate, p); x.Candidate != tt.candidate || v.OK != tt.ok {
			t.Errorf("%q, gold %s: %q by %s, %t (%s); want %q, %t", tt.reply, tt.gold, x.Candidate, x.Method, v.OK, v.Reason, tt.candidate, tt.ok)
		}
	}
}
