package answer_test

import (
	"testing"

	"github.com/sotto-llm/sotto/answer"
)

// TestComputed: what the numbers of a reply give is its value, in any language, and a number that they
// do not give is not.
func TestComputed(t *testing.T) {
	for _, tt := range []struct{ reply, want string }{
		{"40 € − 23 € = 17 €\n\nLena hat am Ende noch 17 € übrig.", "17"},
		{"**Paso 1.** Cada autobús lleva 38 alumnos.\n**Paso 2.** Hay 5 autobuses: 5 × 38 = 190.\n\n👉 **A la excursión van 190 alumnos.**", "190"},
		{"Dividindo as 15 maçãs entre as 5 crianças, cada uma fica com 3 maçãs.", "3"},
		{"Sumando los 40 min del principio, los 20 min del reinicio y los 100 min de la segunda descarga, tarda 160 minutos.", "160"},
		{"5个人每人9块是45块，再加上剩下没人要的3块，盒子里原来就是48块饼干嘛", "48"},
		{"9 × 7 = 63. 그러므로 지우가 일주일 동안 읽은 쪽수는 63쪽입니다.", "63"},
		{"Avec vingt billes moins six, Jules repart avec quatorze billes dans sa poche.", "14"},
		{"12 + 12 + 6 = 30 Kekse liegen auf dem Blech. Auf fünf Kinder verteilt, bekommt also jedes Kind sechs Kekse.", "6"},
		{"Nour a cueilli 3 paniers de 25 pommes, ce qui fait 75. Elle en donne 19 à sa tante, il lui en reste cinquante-six.", "56"},
		{"The answer is 42, because six times seven is forty-two; 6", ""}, // an operand
		{"It has 20 seats. That makes 40 or 60.", ""},
		{"Would 15 apples among 5 children be 3 each?", ""},
		{"The book says that 15 apples among 5 children are 3 each. It does not fit, and I cannot say.", ""},
	} {
		task, err := answer.TaskNamed("gsm8k")
		if err != nil {
			t.Fatal(err)
		}
		if x := answer.Extract(task, tt.reply, answer.Problem{}, answer.Options{}); x.Candidate != tt.want {
			t.Errorf("%q: %q by %s, want %q", tt.reply, x.Candidate, x.Method, tt.want)
		}
	}
}

// TestPlainFormulas: formulas in plain text, and of several formulas the one that ends the sentence.
func TestPlainFormulas(t *testing.T) {
	for _, tt := range []struct{ reply, want string }{
		{"The antiderivative is x^2 + 3x + C.", "x^{2}+3x+C"},
		{"L'altezza misura 5√3 cm ($\\approx 8{,}66$ cm).", `5\sqrt{3}`},
		{"Por lo tanto, x² − 5x + 6 = (x − 3)(x − 2).", "(x-3)(x-2)"},
		{"解は **0 < x < 4** となります。", "0<x<4"},
		{"Dominio: x ≥ 1, ossia [1, +∞).", `[1, +\infty)`},
		{"Le trinôme s'annule en −2 et en 7. Comme l'énoncé impose x < 0, on ne garde que −2.", "-2"},
		{"由 x²−2x−3≤0 得 (x−3)(x+1)≤0,所以解集是 [-1,3]。", "[-1, 3]"},
		{"Aus $f'(x)=3x^2+2x$ folgt durch erneutes Ableiten $f''(x)=6x+2$.", "6x+2"},
		{"Отсюда $x^2 = 7$, и окончательно $x = \\pm\\sqrt{7}$.", `\pm\sqrt{7}`},
		{"The roots depend on the sign: $x=3$ or $x=5$, I cannot tell which.", ""},
	} {
		x := answer.Extract(answer.Math, tt.reply, answer.Problem{}, answer.Options{})
		if got, want := x.Candidate, answer.Math.Normalise(tt.want); got != want {
			t.Errorf("%q: %q by %s, want %q", tt.reply, got, x.Method, want)
		}
	}
}

// TestEdited: a postscript that gives another result takes the first one back.
func TestEdited(t *testing.T) {
	for reply, want := range map[string]string{
		"Respuesta: 480\n\nEditado: multipliqué por 12 meses y el contrato era de 10, o sea que son 400.":  "",
		"Totale: 156.\n\nP.S. I posti in galleria erano già compresi: togliendoli il totale scende a 132.": "",
		"Answer: 480\n\nP.S. The contract has 12 months.":                                                  "480",
		"Answer: 480\n\nP.S. If the contract had 10 months, it would be 400.":                              "480",
		"Answer: 480\n\nP.S. With the discount it is 400.":                                                 "480",
		"Totale: 1.400 €\n\nP.S. In tutto sono 1.400 €.":                                                   "1400",
		"Answer: 480\n\nUpdate: I checked again, and it is 480.":                                           "480",
	} {
		task, err := answer.TaskNamed("number")
		if err != nil {
			t.Fatal(err)
		}
		if x := answer.Extract(task, reply, answer.Problem{}, answer.Options{}); x.Candidate != want {
			t.Errorf("%q: %q by %s, want %q", reply, x.Candidate, x.Method, want)
		}
	}
}
