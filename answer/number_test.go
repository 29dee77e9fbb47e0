package answer

import (
	"strings"
	"testing"
)

var numberCases = []struct{ written, want string }{
	{"18", "18"},
	{"1,234", "1234"},
	{"1,234,567.50", "1234567.50"},
	{"1{,}000", "1000"},
	{`1,\!000`, "1000"},
	{"1 000", "1000"},
	{"1 000", "1000"},
	{"1'000", "1000"},
	{"1_000", "1000"},
	{"1,00,000", "100000"},
	{"1.234.567,89", "1234567.89"},
	{"1.234,56", "1234.56"},
	{"$18", "18"},
	{"$18.50.", "18.50"},
	{"-$5", "-5"},
	{"$-5", "-5"},
	{"−5", "-5"},
	{"+5", "5"},
	{"€ 5", "5"},
	{"25%", "25"},
	{`25\%`, "25"},
	{"18 dollars", "18"},
	{"18 dollars per day.", "18"},
	{"5 km/h", "5"},
	{"3 m^2", "3"},
	{"90°", "90"},
	{"20-year", "20"},
	{"18!", "18"},
	{"**18**", "18"},
	{"`18`", "18"},
	{"$18$", "18"},
	{`\(18\)`, "18"},
	{"18 €", "18"},
	{"1.234,50 €", "1234.50"},
	{"1 234 567,5", "1234567.5"},
	{"3½ cups", "7/2"},
	{"½", "1/2"},
	{`\boxed{18}`, "18"},
	{`\boxed{18} dollars`, "18"},
	{`\boxed{18\text{ dollars}}`, "18"},
	{`\boxed{\$18}`, "18"},
	{`$\boxed{18}$.`, "18"},
	{"<<3*4=12>>12", "12"},
	{"$<<13*2=26>>26", "26"},
	{"x = 18", "18"},
	{"9 * 2 = $18", "18"},
	{"= 18", "18"},
	{": 18", "18"},
	{"：18", "18"},
	{"１８", "18"},
	{"about 18", "18"},
	{"≈ 3.14", "3.14"},
	{"18, because 9 * 2 = 18", "18"},
	{"18, 9 times 2", "18"},
	{"18 (that is, 9 times 2)", "18"},
	{"18. She sells 9 eggs.", "18"},
	{"14/3", "14/3"},
	{`\frac{14}{3}`, "14/3"},
	{"2 1/2 cups", "5/2"},
	{".5", ".5"},
	{"1e5", "1e5"},
	{"1.2×10^3", "1.2e3"},
	{`6.29 \times 10^{6}`, "6.29e6"},
	{"3 million", "3000000"},
	{"1.5 million dollars", "1500000"},
	{"$5k", "5000"}, {"$5K", "5000"}, {"$2m", "2000000"}, {"$2M", "2000000"}, {"$3b", "3000000000"}, {"$3B", "3000000000"}, {"$3bn", "3000000000"}, {"$4T", "4000000000000"},
	{"2 thousand", "2000"}, {"2 billion", "2000000000"}, {"2 trillion", "2000000000000"},
	{"5k", "5k"}, {"5 km", "5"},
	{"2万5千", "25000"}, {"2万5千円", "25000"}, {"1億2000万", "120000000"}, {"2千5百万", "25000000"}, {"3만 5천 원", "35000"}, {"1万2345", "12345"}, {"5百3千", "5百3千"},
	{"３，５００", "3500"}, {"４．５", "4.5"}, {"4.5/5", "4.5"}, {"9,5/10", "9.5"}, {"4/5", "4/5"}, {"4.5/7", "4.5/7"}, {"6 € 30", "6.30"}, {"15mila euro", "15000"},
}

var noNumbers = []string{
	"", "She has 18 eggs", "26 apples and 3 pears", "3-5", "18 or 19", "1 2 3", "3:30", "1.2.3",
	"18, 19", "4, 4, 7.5, 8", "18; -5.", "3, .5", "18 + 4", "18 dollars in 2 days", "x", "Let's see", "#", "1/0",
}

func TestNumberNormalise(t *testing.T) {
	for _, c := range numberCases {
		if got := Number.Normalise(c.written); got != c.want {
			t.Errorf("%q: %q, want %q", c.written, got, c.want)
		}
	}
	for _, s := range noNumbers {
		n := Number.Normalise(s)
		if v := Number.Validate(n, Problem{Gold: "18"}); v.OK || v.Reason == Different {
			t.Errorf("%q is a number: %q, %v", s, n, v)
		}
	}
}

func TestNumberValidate(t *testing.T) {
	for _, c := range []struct {
		written, gold string
		want          Verdict
	}{
		{"18", "18", Verdict{OK: true, Reason: ReasonOK, By: byString}},
		{"18.0", "18", Verdict{OK: true, Reason: ReasonOK, By: byRational}},
		{"1,234", "1234.00", Verdict{OK: true, Reason: ReasonOK, By: byRational}},
		{"0.5", "1/2", Verdict{OK: true, Reason: ReasonOK, By: byRational}},
		{"1e3", "1000", Verdict{OK: true, Reason: ReasonOK, By: byRational}},
		{"25%", "25", Verdict{OK: true, Reason: ReasonOK, By: byString}},
		{"25%", "0.25", Verdict{Reason: Different, Detail: "25", By: byNone}},
		{"0.25", "25%", Verdict{Reason: Different, Detail: "0.25", By: byNone}},
		{"118", "18", Verdict{Reason: Different, Detail: "118", By: byNone}},
		{"0.333", "1/3", Verdict{Reason: Different, Detail: "0.333", By: byNone}},
		{"many", "18", Verdict{Reason: FormatError, Detail: "many"}},
		{"", "18", Verdict{Reason: Empty}},
		{"18", "many", Verdict{Reason: BadGold, Detail: "many"}},
		{"18", "", Verdict{Reason: BadGold}},
		{"1e999999999", "18", Verdict{Reason: TooLarge, Detail: "1e999999999"}},
		{"1/0", "18", Verdict{Reason: DivisionByZero, Detail: "1/0"}},
	} {
		if got := Number.Validate(Number.Normalise(c.written), Problem{Gold: c.gold}); got != c.want {
			t.Errorf("%q against %q: %+v, want %+v", c.written, c.gold, got, c.want)
		}
	}
	for _, s := range []string{strings.Repeat("9", 1e6), "1e" + strings.Repeat("9", 1e6), strings.Repeat("9", 2000)} {
		if got := Number.Validate(Number.Normalise(s), Problem{Gold: "1"}); got.Reason != TooLarge {
			t.Errorf("%.10q…: %v", s, got.Reason)
		}
	}
}

func TestNumberPrecheck(t *testing.T) {
	for line, want := range map[string]bool{
		"18": true, "$18": true, "25%": true, "**18**": true, `\boxed{18}`: true, "1,234.5": true,
		"3.": false, "3)": false, "18 eggs": false, "x = 18": false, "She has 18": false, "": false, "3 + 4": false,
	} {
		if got := Number.Precheck(line, Problem{}); got != want {
			t.Errorf("%q: %v, want %v", line, got, want)
		}
	}
}

func TestNumberDistil(t *testing.T) {
	query, trace := GSM8K.Distil(Problem{Input: " How  many\neggs? "}, "so <<16-3=13>>13, $<<13*2=26>>26 <<")
	if query != "How many eggs?" || trace != "16-3=13; 13*2=26" {
		t.Errorf("%q, %q", query, trace)
	}
}
