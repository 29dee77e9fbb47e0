package answer

import (
	"github.com/sotto-llm/sotto/internal/base/effort"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestMathNormalise(t *testing.T) {
	for _, c := range []struct{ written, want string }{
		{`\dfrac{14}{3}`, `\frac{14}{3}`},
		{`\frac12`, `\frac{1}{2}`},
		{`\frac 1 2`, `\frac{1}{2}`},
		{`\tfrac{1}2`, `\frac{1}{2}`},
		{`\sqrt2`, `\sqrt{2}`},
		{`3 \cdot \sqrt{13}`, `3\sqrt{13}`},
		{`2 \cdot 3`, `2*3`},
		{`2 \cdot \frac{1}{2}`, `2*\frac{1}{2}`},
		{`$x = 5$.`, `x=5`},
		{`\boxed{\boxed{5}}`, `5`},
		{`\fbox{5}`, `5`},
		{`\left( 3, \frac{\pi}{2} \right)`, `(3, \frac{\pi}{2})`},
		{`(3,\frac{π}{2})`, `(3, \frac{\pi}{2})`},
		{`\text{Evelyn}`, `Evelyn`},
		{`\textbf{(C)}`, `(C)`},
		{`10 \text{ meters}`, `10\text{meters}`},
		{`10 apples`, `10\text{apples}`},
		{`100\text{ square feet}`, `100\text{square feet}`},
		{`90^\circ`, `90°`},
		{`90^{\circ}`, `90°`},
		{`90°`, `90°`},
		{`1{,}000`, `1000`},
		{`0{,}5`, `0.5`},
		{`12{,}75\text{ cm}`, `12.75\text{cm}`},
		{`0{,}125`, `0.125`},
		{`]2;\infty[`, `(2, \infty)`},
		{`[-1,2[`, `[-1, 2)`},
		{`[-1,2]`, `[-1, 2]`},
		{`(2|3)`, `(2, 3)`},
		{`P(A|B)`, `P(A|B)`},
		{`1,000,000`, `1000000`},
		{`12\,345`, `12345`},
		{`12 345`, `12345`},
		{`1, 2, 3`, `1, 2, 3`},
		{`1,2,3`, `1, 2, 3`},
		{`(1,234)`, `(1, 234)`},
		{`\{1,2\}`, `\{1, 2\}`},
		{`\lbrace 1, 2 \rbrace`, `\{1, 2\}`},
		{`25\%`, `25%`},
		{`\$5`, `$5`},
		{`3 1/2`, `3 1/2`},
		{`1 2`, `1 2`},
		{`x^{2}`, `x^2`},
		{`x^{10}`, `x^{10}`},
		{`2^10`, `2^{10}`},
		{`e^(n+1)`, `e^{n+1}`},
		{`\pi r^2`, `\pi r^2`},
		{`2pi`, `2\pi`},
		{`sqrt(13)`, `\sqrt{13}`},
		{`3√13`, `3\sqrt{13}`},
		{`x \leq 3`, `x\le3`},
		{`x ≤ 3`, `x\le3`},
		{`−3`, `-3`},
		{`2 and 3`, `2, 3`},
		{`1, 2, \text{ and } 3`, `1, 2, 3`},
		{`\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}`, `\begin{pmatrix}1&2\\3&4\end{pmatrix}`},
		{`5!`, `5!`},
		{`5\,.`, `5`},
		{``, ``},
	} {
		if got := Math.Normalise(c.written); got != c.want {
			t.Errorf("%q: %q, want %q", c.written, got, c.want)
		}
	}
}

var mathEqualities = []struct{ candidate, gold, by string }{
	{`14/3`, `\dfrac{14}{3}`, byRational},
	{`\frac{14}{3}`, `\dfrac{14}{3}`, byString},
	{`\frac{28}{6}`, `\frac{14}{3}`, byRational},
	{`4\frac23`, `\frac{14}{3}`, byRational},
	{`4 2/3`, `\frac{14}{3}`, byRational},
	{`x = 5`, `5`, byString},
	{`5`, `x = 5`, byString},
	{`x = \frac12`, `0.5`, byRational},
	{`f(x) = x^2`, `x^{2}`, byString},
	{`x_1 = 3`, `3`, byString},
	{`x \in [1,2]`, `[1, 2]`, byElement},
	{`(x+1)(x+2)`, `x^2+3x+2`, byRational},
	{`37.5`, `37.50`, byRational},
	{`1{,}000`, `1000`, byString},
	{`1,000`, `1000.0`, byRational},
	{`0.\overline{3}`, `\frac13`, byRational},
	{`0.1\overline{6}`, `1/6`, byRational},
	{`2^{10}`, `1024`, byRational},
	{`6.29 \times 10^6`, `6290000`, byRational},
	{`10 \text{ meters}`, `10`, byString},
	{`10 \text{ meters}`, `10 m`, byNone},
	{`10 \text{ meters}`, `10 \text{ m}`, byString},
	{`10 cm`, `10 \text{ centimeters}`, byString},
	{`10\text{ cm}^2`, `10 \text{ square centimeters}`, byString},
	{`12 apples`, `12`, byString},
	{`$5`, `5`, byString},
	{`\$5.00`, `5 \text{ dollars}`, byRational},
	{`25\%`, `25`, byString},
	{`90`, `90^\circ`, byString},
	{`90 degrees`, `90^\circ`, byString},
	{`\sqrt{12}`, `2\sqrt{3}`, byRational},
	{`\frac{1}{\sqrt{2}}`, `\frac{\sqrt{2}}{2}`, byRational},
	{`\sqrt{2}\sqrt{3}`, `\sqrt{6}`, byRational},
	{`\sqrt{16}`, `4`, byRational},
	{`\frac{3\pi}{2}`, `3\pi/2`, byRational},
	{`1.5\pi`, `\frac{3}{2}\pi`, byRational},
	{`\frac{1+\sqrt{5}}{2}`, `\frac12+\frac{\sqrt5}{2}`, byRational},
	{`p - q`, `p-q`, byString},
	{`-q + p`, `p - q`, byRational},
	{`4a-2`, `-2+4a`, byRational},
	{`x*y`, `xy`, byString},
	{`6-5i`, `6 - 5i`, byString},
	{`(3, \dfrac{\pi}{2})`, `\left(3,\frac{\pi}{2}\right)`, byString},
	{`(0.5, 2)`, `\left(\frac12, 2\right)`, byElement},
	{`\{3, 1, 2\}`, `\{1,2,3\}`, byElement},
	{`3, -2`, `-2, 3`, byElement},
	{`x = 3 or x = -2`, `-2, 3`, byElement},
	{`\pm 3`, `-3, 3`, byElement},
	{`2 \pm \sqrt{3}`, `2-\sqrt3, 2+\sqrt3`, byElement},
	{`(-\infty, 0.5) \cup (1, \infty)`, `(1,+\infty)\cup(-\infty,\frac12)`, byElement},
	{`\begin{bmatrix} 0.5 & 2 \end{bmatrix}`, `\begin{pmatrix} \frac12 & 2 \end{pmatrix}`, byElement},
	{`(C)`, `\text{C}`, byString},
	{`evelyn`, `\text{Evelyn}`, byString},

	{`140`, `40`, byNone},
	{`40`, `140`, byNone},
	{`25\%`, `0.25`, byNone},
	{`0.25`, `25`, byNone},
	{`0.333`, `\frac13`, byNone},
	{`x = 5`, `y = 5`, byNone},
	{`5 \text{ cm}`, `5 \text{ m}`, byNone},
	{`4t`, `4`, byNone},
	{`4`, `4t`, byNone},
	{`10 people in 3 rooms`, `10`, byNone},
	{`12`, `1, 2`, byNone},
	{`1 2`, `12`, byNone},
	{`(1, 2)`, `(2, 1)`, byNone},
	{`[1, 2)`, `(1, 2)`, byNone},
	{`\{1,1,2\}`, `\{1,2,2\}`, byNone},
	{`1, 2`, `1, 2, 3`, byNone},
	{`2\frac{5}{2}`, `5`, byNone},
	{`1/2\pi`, `\frac{1}{2\pi}`, byNone},
	{`\frac{1}{0}`, `\frac{2}{0}`, byNone},
	{`no`, `on`, byNone},
	{`cat`, `act`, byNone},
	{`X`, `x`, byNone},
	{`\begin{vmatrix} 1 & 2 \end{vmatrix}`, `\begin{pmatrix} 1 & 2 \end{pmatrix}`, byNone},
	{`4:30 \text{ p.m.}`, `4:30p..`, byNone},
}

func TestMathValidate(t *testing.T) {
	for _, c := range mathEqualities {
		v := Math.Validate(Math.Normalise(c.candidate), Problem{Gold: c.gold})
		if v.By != c.by || v.OK != (c.by != byNone) {
			t.Errorf("%q against %q: %+v, want %s", c.candidate, c.gold, v, c.by)
		}
	}
	for _, c := range []struct {
		candidate, gold string
		want            Reason
	}{{"", "5", Empty}, {"5", "", BadGold}, {"5", `\boxed{}`, BadGold}} {
		if v := Math.Validate(Math.Normalise(c.candidate), Problem{Gold: c.gold}); v.OK || v.Reason != c.want {
			t.Errorf("%q against %q: %+v, want %s", c.candidate, c.gold, v, c.want)
		}
	}
}

// hostile are replies made to cost time or memory.
var hostile = map[string]string{
	"digits":        strings.Repeat("7", 1e6),
	"exponents":     strings.Repeat("9^{", 1000) + "9" + strings.Repeat("}", 1000),
	"tower":         "9^{9^{9^{9}}}",
	"power":         "1e999999999",
	"braces":        strings.Repeat("{", 1e5),
	"brackets":      strings.Repeat("[", 1e5) + strings.Repeat("]", 1e5),
	"objects":       strings.Repeat(`{"a":`, 1e5),
	"boxes":         strings.Repeat(`\boxed{`, 1e5),
	"fractions":     strings.Repeat(`\frac{1}{`, 500) + "2" + strings.Repeat("}", 500),
	"bare":          strings.Repeat(`\frac1`, 2000),
	"mixed":         strings.Repeat(`2\frac{`, 40) + "1" + strings.Repeat("}{2}", 40),
	"ones":          `\frac` + strings.Repeat("1", 15000),
	"roots":         strings.Repeat(`\sqrt{`, 40) + "2" + strings.Repeat("}", 40),
	"parens":        strings.Repeat("(", 8000) + strings.Repeat(")", 8000),
	"squares":       strings.Repeat(`\sqrt{9999999967}+`, 800) + "1",
	"sum":           strings.Repeat("a+b+", 3000) + "c",
	"factors":       strings.Repeat("(a+b)", 3000),
	"expansion":     "(a+b+c)^{999}",
	"many factors":  strings.Repeat("(a+b+c+d+e+f+g+h)", 40),
	"many letters":  strings.Repeat("(a+b)(c+d)(x+y)(z+w)(p+q)(m+n)(u+v)", 8),
	"nested powers": strings.Repeat("(1+", 30) + "x" + strings.Repeat(")^{9}", 30),
	"large numbers": strings.Repeat("(9^{2000}+x)", 200),
	"nested names":  strings.Repeat(`\sqrt{a+b+`, 40) + "x" + strings.Repeat("}", 40),
	"sums of roots": "(" + strings.Repeat(`\sqrt{a+b}+\sqrt{2}+\pi+`, 100) + "1)^{99}",
	"factorials":    strings.Repeat("900!*", 500) + "900!",
	"binomials":     strings.Repeat(`\binom{1000000}{400}+`, 300) + "1",
	"choose":        strings.Repeat(`{5 \choose `, 300) + strings.Repeat("}", 300),
	"intervals":     strings.Repeat(`(1,2)\cup`, 2000) + "(1,2)",
	"inequalities":  strings.Repeat("x<1 or ", 2000) + "x<2",
	"conditions":    strings.Repeat(`x\ne 1, `, 60) + `x\ne 2`,
	"chain":         strings.Repeat("1<", 5000) + "x",
	"equations":     strings.Repeat("x=", 5000) + "x",
	"assignments":   strings.Repeat("a=1, b=2, ", 500) + "c=3",
	"products":      strings.Repeat("(a+b)^{9}, ", 190) + "1",
	"list":          strings.Repeat("1, ", 5000) + "1",
	"fences":        strings.Repeat("```\n", 1e5),
	"quotes":        strings.Repeat(`"`, 1e5),
	"answers":       strings.Repeat(`"answer":`, 1e5),
	"backslashes":   strings.Repeat(`\`, 1e5),
	"texts":         strings.Repeat(`\text{`, 2000),
	"calculators":   strings.Repeat("<<", 2000) + strings.Repeat(">>", 2000),
	"plus or minus": strings.Repeat(`\pm 1, `, 2000),
	"letters":       strings.Repeat("A or ", 1e5),
	"stars":         strings.Repeat("*", 1e5) + "5",
	"points":        strings.Repeat(".", 1e6),
}

func TestHostileAnswers(t *testing.T) {
	for _, task := range ownTasks {
		chosen := effort.OneIn(3, task.Name())
		for _, name := range slices.Sorted(maps.Keys(hostile)) {
			s := hostile[name]
			if !chosen() {
				continue
			}
			from := time.Now()
			n := task.Normalise(s)
			task.Validate(n, Problem{Gold: s})
			task.Validate(n, Problem{Gold: s[:len(s)/2], Options: []string{s, "b"}})
			task.Validate(n, Problem{Gold: "1"})
			task.Precheck(s, Problem{})
			if find := task.Form().Find; find != nil {
				find(s, Problem{})
			}
			if d := time.Since(from); d > time.Minute {
				t.Errorf("%s: %s: %v", task.Name(), name, d)
			}
			if again := task.Normalise(n); again != n {
				t.Errorf("%s: %s: not the same again", task.Name(), name)
			}
		}
	}
}
