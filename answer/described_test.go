package answer

import "testing"

// A clause gives a name if its subject describes what is asked, and its predicate names it.
func TestDescribed(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"The only day on which both are free is Thursday, so take that one.", "Thursday"},
		{"Le jour qui convient, c'est jeudi", "jeudi"},
		{"El órgano que produce la bilis es el hígado; la vesícula solo la almacena", "hígado"},
		{"La tomba vera è a Ravenna", "Ravenna"},
		{"Родным же его городом был Таганрог", "Таганрог"},
		{"中国最长的河流是长江，全长约6300公里", "长江"},
		{"三人とも参加できるのは木曜日です", "木曜日"},
		{"가장 높은 산은 1,947m의 한라산이고, 그다음이 지리산입니다", "한라산"},
		{"질소가 아니라 산소는 아니지만 답은 헬륨입니다", "헬륨"},

		{"Paris is the capital", ""},                          // the subject names it
		{"Although it was signed in Rome, it holds", ""},      // a clause that is not the main one
		{"The capital could be Bern", ""},                     // a doubt
		{"They say the capital is Bern", ""},                  // the word of others
		{"The museum is closed", ""},                          // no name
		{"这不是长江", ""},                                         // a denial
		{"The first is Rome; the second is Oslo", ""},         // two names
		{"The longest river of the country is very long", ""}, // no name either
		{"東京は大きいです", ""},                                      // an adjective
		{"답은 그때 본 것입니다", ""},                                  // "a thing"
	} {
		marks := lexicon().marks(nil, tt.text, 0, len(tt.text))
		sp := describedIn(tt.text, marks, 0)
		if got := tt.text[sp.Start:sp.End]; got != tt.want {
			t.Errorf("%q: %q, want %q", tt.text, got, tt.want)
		}
	}
}

// These replies end in ways that decide a verdict: each row is a rule.
func TestEnds(t *testing.T) {
	for _, tt := range []struct {
		task             Task
		reply, candidate string
		status           Status
	}{
		{Number, "(5)", "5", OK},
		{Number, "Roma diventa capitale nel 1871, ma il Regno viene proclamato il 17 marzo 1861.", "1861", OK},
		{Number, "So there are 21 games.\n\nA common mistake is 42, which counts each pair twice.", "21", OK},
		{Number, "So it is 3 a day. Which of the two is it for?", "", Several},
		{Math, "Answer: the height is $2\\sqrt3$ cm.", "2\\sqrt{3}", OK},
		{YesNo, "It is cast iron without a coating, so no, it would rust.", "no", OK},
		{YesNo, "I told you yes, but I should not have been so sure.", "", NoAnswer},
		{QA, "Es de Neruda. En realidad, mirando la métrica, el poema pertenece a Gabriela Mistral.", "", Several},
		{Code, "```\nrm -rf build\n```\nor\n```\nmake clean\n```\nWhich one do you prefer?", "", Several},
	} {
		x := Extract(tt.task, tt.reply, Problem{}, Options{})
		if x.Candidate != tt.candidate || x.Status != tt.status {
			t.Errorf("%s, %q: %q, %s by %s; want %q, %s", tt.task.Name(), tt.reply, x.Candidate, x.Status, x.Method, tt.candidate, tt.status)
		}
	}
}

// A letter of an option may stand within a sentence in lower case or in full width.
func TestOtherLetters(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"Je dirais d) sans hésiter", "d)"},
		{"故选Ｃ", "Ｃ"},
		{"the parts a) and b)", ""},
		{"f(a) is small", ""},
	} {
		sp := letterIn(tt.text, Problem{})
		if got := tt.text[sp.Start:sp.End]; got != tt.want {
			t.Errorf("%q: %q, want %q", tt.text, got, tt.want)
		}
	}
}
