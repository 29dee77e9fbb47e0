package answer

import "testing"

// A value of JSON, or a program, is an answer by what its sentences do with it: each row is a rule.
func TestBlocks(t *testing.T) {
	block := func(s string) string { return "```\n" + s + "\n```\n" }
	ana, ben := `{"name": "Ana"}`, `{"name": "Ben"}`
	for _, tt := range []struct {
		task             Task
		reply, candidate string
		status           Status
	}{
		// A sample, while the reply lacks something.
		{JSON, "I will follow this template:\n" + block(ana) + "Please upload the CV.", "", NoAnswer},
		{JSON, "Here it is in the format that you sent:\n" + block(ana) + "Tell me if you want more.", ana, OK},
		{JSON, "Here it is in the requested format:\n" + block(ana) + "If you send me the phone number, I add it.", ana, OK},
		{JSON, block(ana) + "These are placeholder values.", "", NoAnswer},
		{JSON, "模板如下(均为占位符):\n" + block(ana), "", NoAnswer},
		// Within a sentence.
		{JSON, "Ein Objekt wie " + ana + " wäre geraten.", "", NoAnswer},
		{JSON, "개인정보라 변환할 수 없고 `" + ana + "` 같은 결과도 만들어 드리지 않겠습니다.", "", NoAnswer},
		{JSON, "It follows that the record is " + ana + ". Enjoy!", ana, OK},
		// What someone else wrote, and what the reply advises against.
		{Code, "The error message was:\n" + block("TypeError: x") + "Which line is it?", "", NoAnswer},
		{Code, "Your original had a mistake:\n" + block("x == None") + "Corrected:\n" + block("x is None"), "x is None", OK},
		{Code, "Avoid this:\n" + block("eval(s)") + "What do you want to read?", "", NoAnswer},
		{Code, block("chmod 777 a") + "mais je te le déconseille fortement.", "", NoAnswer},
		{Code, "Run this:\n" + block("git reset --soft HEAD~1") + "Don't use `--hard`.", "git reset --soft HEAD~1", OK},
		// Alternatives.
		{Code, "On Linux:\n" + block("apt install jq") + "On macOS:\n" + block("brew install jq"), "", Several},
		{Code, "如果是 Windows:\n" + block("dir") + "如果是 Linux:\n" + block("ls"), "", Several},
		{Code, "Puoi scrivere\n" + block("x is None") + "oppure\n" + block("not x"), "", Several},
		{JSON, block(ana) + block(ben) + "Beides geht.", "", Several},
		{Code, "First install it:\n" + block("pip install jq") + "Then run:\n" + block("jq . a.json"), "jq . a.json", Ambiguous},
		{Code, "Method 1:\n" + block("def a():\n    return 1") + "Method 2:\n" + block("def a():\n    return 2"), "def a():\n    return 2", Ambiguous},
	} {
		x := Extract(tt.task, tt.reply, Problem{}, Options{})
		if x.Candidate != tt.candidate || x.Status != tt.status {
			t.Errorf("%s, %q: %q, %s by %s; want %q, %s", tt.task.Name(), tt.reply, x.Candidate, x.Status, x.Method, tt.candidate, tt.status)
		}
	}
}

// A value that holds in one of several cases is not the answer.
func TestCases(t *testing.T) {
	for _, tt := range []struct {
		task             Task
		reply, candidate string
	}{
		{Number, "Für zwei Personen sind es 200 g, für vier 400 g.", ""},
		{Number, "Mit Rabatt sind es 90 Euro, ohne 100.", ""},
		{Number, "税込なら110円、税抜なら100円です。", ""},
		{Number, "For each adult it's 10 and for each child 5, so the family pays 30.", "30"},
		{Choice, "По учебнику подходит C, по действующему стандарту — B.", ""},
		{YesNo, "For EU citizens yes, for everyone else no.", ""},
	} {
		x := Extract(tt.task, tt.reply, Problem{}, Options{})
		if x.Candidate != tt.candidate {
			t.Errorf("%s, %q: %q, %s by %s; want %q", tt.task.Name(), tt.reply, x.Candidate, x.Status, x.Method, tt.candidate)
		}
	}
}

// What the end of a reply denies of its answer takes it back.
func TestDeniedAtTheEnd(t *testing.T) {
	for _, tt := range []struct {
		task             Task
		reply, candidate string
	}{
		{Choice, "B comes close, but is wrong because of the date.", ""},
		{Choice, "B. Die anderen Optionen stimmen nicht.", "B"},
		{Choice, "정답: D\n\n주어가 다르므로 D가 아니라 B를 골라야 합니다.", ""},
		{Choice, "**Réponse : A**\n\nC'est la proposition C qu'il faut retenir.", ""},
		{Math, "Mit n = 9 geht es nicht auf. Ich verwerfe die 9 wieder.", ""},
		{Number, "5라고 답했지만 성립하지 않습니다. 5는 답이 아니고, 다른 값은 아직 모릅니다.", ""},
		{YesNo, "はい、申し込めます。\n\n※追記:読み返したら、締切は前日でした。申し込みはできません。", ""},
		{YesNo, "Resposta: não (o tomate não é um legume).", "no"},
	} {
		x := Extract(tt.task, tt.reply, Problem{}, Options{})
		if x.Candidate != tt.candidate {
			t.Errorf("%s, %q: %q, %s by %s; want %q", tt.task.Name(), tt.reply, x.Candidate, x.Status, x.Method, tt.candidate)
		}
	}
}

// Replies to Countdown try expressions aloud, and the last try is not an answer.
func TestTriesOfCountdown(t *testing.T) {
	x := Extract(Countdown, "I could try 9 + 5 + 5 + 5 = 24 next", Problem{Input: "5 5 5 9", Gold: "24"}, Options{})
	if x.Status != NoAnswer {
		t.Errorf("%q by %s, %s; want no answer", x.Candidate, x.Method, x.Status)
	}
}

// A game's expression may stand within a sentence.
func TestExpressionInProse(t *testing.T) {
	for _, tt := range []struct{ input, reply, candidate string }{
		{"5 5 5 9", "It is simple: 9 + 5 + 5 + 5 = 24.", "9 + 5 + 5 + 5"},
		{"1 4 5 6", "La soluzione passa per le frazioni: 4 : (1 − 5 : 6) = 24.", "4 / (1 - 5 / 6)"},
		{"4 4 10 10", "Step 3: (10*10-4)/4, I think", "(10*10-4)/4"},
		{"5 5 5 9", "Is it 9 + 5 + 5 + 5?", ""},
		{"5 5 5 9", "Take 9 + 5 + 5 = 19 first.", ""},
		{"", "It is simple: 9 + 5 + 5 + 5 = 24.", ""},
	} {
		x := Extract(Game24, tt.reply, Problem{Input: tt.input}, Options{})
		if x.Candidate != tt.candidate {
			t.Errorf("%q, %q: %q by %s, want %q", tt.input, tt.reply, x.Candidate, x.Method, tt.candidate)
		}
	}
}
