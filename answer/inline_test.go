package answer_test

import (
	"testing"

	"github.com/sotto-llm/sotto/answer"
)

// Each row is a task, a reply, and what it says: a candidate, or nothing.
func checkReplies(t *testing.T, rows [][3]string) {
	t.Helper()
	for _, row := range rows {
		task, err := answer.TaskNamed(row[0])
		if err != nil {
			t.Fatal(err)
		}
		if x := answer.Extract(task, row[1], answer.Problem{}, answer.Options{}); x.Candidate != row[2] {
			t.Errorf("%s: %q gives %q by %s, %s; want %q", row[0], row[1], x.Candidate, x.Method, x.Status, row[2])
		}
	}
}

func TestInline(t *testing.T) {
	checkReplies(t, [][3]string{
		{"json", `The sorted list is [2, 5, 9]. Anything else?`, `[2, 5, 9]`},
		{"json", "Les villes sont `[\"Lyon\", \"Nice\"]`, dans cet ordre.", `["Lyon", "Nice"]`},
		{"json", `排序后的数组是["甲", "乙"]，可以直接用。`, `["甲", "乙"]`},
		{"json", `결과는 ["봄", "가을"]입니다.`, `["봄", "가을"]`},
		{"json", `See the notes [1] and [2] on this.`, ``},
		{"json", `Read [a, b](http://example.org) first.`, ``},
		{"json", `Take [1, 2] or [2, 1] as you like.`, ``},
		{"json", `It might be [1, 2], but I am not sure.`, ``},
		{"json", `The value x lies in $[1, 2]$ here.`, ``},
		{"code", "Just run `tar -xzf a.tgz` and it is unpacked.", "tar -xzf a.tgz"},
		{"code", "Mit `ls -la | wc -l` zählst du die Zeilen.", "ls -la | wc -l"},
		{"code", "ファイルを消すだけなら `rm -f a.log` でできます。", "rm -f a.log"},
		{"code", "Put `x = max(a, b)` into `main.py`, next to `init`.", "x = max(a, b)"},
		{"code", "Look at `main.py` and at `init()`.", ""},
		{"code", "Use `sort -u` or `uniq -c` for this: `sort -u a` and `uniq -c a` differ.", ""},
		{"code", "Do not run `rm -rf x y` here.", ""},
		{"code", "I wanted to propose `df.dropna(axis = 1)`, but on reflection it deletes rows, so forget it.", ""},
	})
}

// A member that is called wrong after its block makes the block no answer.
func TestMended(t *testing.T) {
	block := "```json\n{\"date\": \"2025-03-14\", \"room\": \"B 204\"}\n```\n\n"
	want := "{\"date\": \"2025-03-14\", \"room\": \"B 204\"}"
	checkReplies(t, [][3]string{
		{"json", block + "Careful, the room above is wrong: it should be \"C 110\".", ""},
		{"json", block + "Note that \"B 204\" is not correct. The list has C 110.", ""},
		{"json", block + "The room is on the second floor.", want},
		{"json", block + "A wrong room would be refused by the form.", want},
		{"json", block + "If you asked me, the room would be wrong.", want},
	})
}

func TestEndsOfReplies(t *testing.T) {
	checkReplies(t, [][3]string{
		{"number", "（式）９×５＝４５\n（答え）４５円", "45"},
		{"number", "6 bags of 16 make 6 × 16 = 96. Without the broken ones that is 96 −", ""},
		{"number", "Er zahlt 12 Euro statt der 20 Euro auf dem Etikett.", "12"},
		{"number", "Pagou R$ 45,00, em vez dos **R$ 60,00** do anúncio.", ""},
		{"number", "The trail is 42\u202f195 m long, which is just over 42 km.", "42195"},
		{"number", "There are 31 pupils. Their result was 30, because they forgot Ann.", "31"},
		{"qa", "The capital of Turkey is **Ankara**, not Istanbul, as many people think.", "Ankara"},
		{"yesno", "Nö, das ist nicht erlaubt.", "no"},
		{"yesno", "Nah, it won't fit.", "no"},
		{"yesno", "Ouais, c'est possible.", "yes"},
	})
	for _, quotes := range []string{"«»", "„“", "“”", "「」", "『』", "《》", "‚‘", "‹›"} {
		q := []rune(quotes)
		if v := answer.QA.Validate(answer.QA.Normalise(string(q[0])+"Red Square"+string(q[1])), answer.Problem{Gold: "Red Square"}); !v.OK {
			t.Errorf("%s: %v", quotes, v)
		}
	}
}

func TestRoots(t *testing.T) {
	for _, row := range [][2]string{
		{"So there are two solutions: $x = 3$ and $x = -\\frac{7}{2}$.", "3, -\\frac{7}{2}"},
		{"As raízes são, portanto, x = 2 e x = 5.", "x=2, x=5"},
		{"Die Lösungen sind also x = 2 und x = 5.", "2, 5"},
		{"We get\n\n$$x = \\frac{\\pi}{4} + \\pi k,\\quad k\\in\\mathbb{Z}.$$", "\\frac{\\pi}{4}+\\pi k"},
		{"The derivative is thus f'(x) = 8x³ + 2, and that is all.", "8x^3+2"},
		{"Cancelling leaves\n\n$$\\frac{x+1}{x-3}$$\n\nunder the condition $x \\neq 3$.", "\\frac{x+1}{x-3}"},
	} {
		x := answer.Extract(answer.Math, row[0], answer.Problem{}, answer.Options{})
		if v := answer.Math.Validate(x.Candidate, answer.Problem{Gold: row[1]}); !v.OK {
			t.Errorf("%q gives %q by %s, %s: %v; want %s", row[0], x.Candidate, x.Method, x.Status, v, row[1])
		}
	}
	checkReplies(t, [][3]string{
		{"yesno", "Yes, I know that everybody says so. But no, it is not harmful.", ""},
		{"choice", "Marquei a C) nessa.", "C"},
	})
}
