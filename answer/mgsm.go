package answer

import "strings"

// MGSM is the task of the multilingual grade-school problems. It is [GSM8K]
// under another name, so that memory keeps the two apart.
var MGSM Task = mgsm{GSM8K}

type mgsm struct{ Task }

func (mgsm) Name() string { return "mgsm" }

func (t mgsm) Form() Form {
	f := t.Task.Form()
	f.Rules = strings.Replace(f.Rules, t.Task.Name(), "mgsm", 1)
	return f
}
