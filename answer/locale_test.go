package answer_test

import (
	"testing"

	"github.com/sotto-llm/sotto/answer"
)

// A point or a comma before three digits is of thousands or of decimals as the reply's
// other numbers, its currency or its language says.
func TestLocale(t *testing.T) {
	for _, c := range []struct {
		reply, want string
		status      answer.Status
	}{
		{"Answer: 1.234", "1.234 or 1234", answer.Ambiguous},
		{"1.234", "1.234 or 1234", answer.Ambiguous},
		{"Work.\n\n1.234", "1.234 or 1234", answer.Ambiguous},
		{"1,234", "1234", answer.OK}, // golds are written so
		{"0.234", "0.234", answer.OK},
		{"Answer: 1.234\n\nThis rounds the sum of the masses.", "1.234", answer.OK},
		{"Die Antwort lautet 1.234 Liter.", "1234", answer.OK},
		{"Die Antwort lautet 1,234 Liter.", "1.234", answer.OK},
		{"2,5 + 3,5 = 6\n\nAnswer: 1.234", "1234", answer.OK},
		{"2.5 + 3.5 = 6\n\nDie Antwort lautet 1.234 Liter.", "1.234", answer.OK},
		{"1.2, 1.3, 1.000,5 + 2\n\nAnswer: 1.234", "1234", answer.OK}, // one with both counts more
		{"Answer: 1.234 €", "1234", answer.OK},
		{"Answer: $1.234", "1.234", answer.OK},
		{"Answer: R$ 1.234", "1234", answer.OK},
		{"答案是1.234。", "1.234", answer.OK},
		{"Answer: 1.234.567", "1234567", answer.OK},
		{"合計は３，５００円です。", "3500", answer.OK},
		{"合計は2万5千円です。", "25000", answer.OK},
		{"The rating is 4.5/5.", "4.5", answer.OK},
	} {
		x := answer.Extract(answer.MGSM, c.reply, answer.Problem{}, answer.Options{})
		if x.Candidate != c.want || x.Status != c.status {
			t.Errorf("%q: %q by %s, %s; want %q, %s", c.reply, x.Candidate, x.Method, x.Status, c.want, c.status)
		}
	}
	both := answer.Extract(answer.Number, "Answer: 1.234", answer.Problem{}, answer.Options{}).Candidate
	for gold, want := range map[string]bool{"1234": true, "1.234": true, "1235": false, "12.34": false} {
		if v := answer.Number.Validate(both, answer.Problem{Gold: gold}); v.OK != want {
			t.Errorf("%q against %s: %+v", both, gold, v)
		}
	}
	if v := answer.Number.Validate("8 or 9", answer.Problem{Gold: "8"}); v.OK {
		t.Error("two numbers count for one")
	}
}
