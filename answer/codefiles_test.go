package answer

import (
	"strings"
	"testing"
)

// TestCodeFiles: of several files, the one that the problem names is the answer,
// wherever its name stands.
func TestCodeFiles(t *testing.T) {
	const fence = "```"
	block := func(label, body string) string { return fence + label + "\n" + body + "\n" + fence + "\n" }
	for name, of := range map[string]func(file, body string) string{
		"title":         func(f, b string) string { return block(`python title="`+f+`"`, b) },
		"filename":      func(f, b string) string { return block(`python {filename=`+f+`}`, b) },
		"label":         func(f, b string) string { return block(f, b) },
		"colon":         func(f, b string) string { return block("python:"+f, b) },
		"comment":       func(f, b string) string { return block("python", "# file: "+f+"\n"+b) },
		"bare comment":  func(f, b string) string { return block("python", "# "+f+"\n"+b) },
		"block comment": func(f, b string) string { return block("python", "/* "+f+" */\n"+b) },
		"emphasis":      func(f, b string) string { return "**" + f + "**\n\n" + block("python", b) },
		"heading":       func(f, b string) string { return "### `" + f + "`\n" + block("python", b) },
		"sentence":      func(f, b string) string { return "Now save this as `" + f + "`:\n" + block("python", b) },
		"list":          func(f, b string) string { return "1. **" + f + "**:\n\n" + block("python", b) },
	} {
		reply := "Two files.\n\n" + of("src/app.py", "app = 1") + "\n" + of("lib/util.py", "util = 2") + "\nRun it with `python app.py`.\n"
		for file, want := range map[string]string{"src/app.py": "app = 1", "app.py": "app = 1", "./lib/util.py": "util = 2", "util.py": "util = 2", "til.py": "", "other.py": ""} {
			x := Extract(Code, reply, Problem{Lang: "python", File: file}, Options{})
			if label := strings.Contains(name, "label"); label {
				x = Extract(Code, reply, Problem{File: file}, Options{})
			}
			if !strings.HasSuffix(x.Candidate, want) || (want == "") != (x.Candidate == "") {
				t.Errorf("%s: file %s: got %q, want %q", name, file, x.Candidate, want)
			}
		}
	}
	// Without names, the rules are those of one program.
	if x := Extract(Code, block("python", "a = 1"), Problem{File: "a.py"}, Options{}); x.Candidate != "a = 1" {
		t.Errorf("without a name: got %q", x.Candidate)
	}
	// A line that names two files names none, and the fence above is not a name.
	if x := Extract(Code, "As `b.py` imports `a.py`:\n"+block("", "x = 1")+block("", "y = 2"), Problem{File: "a.py"}, Options{}); x.Candidate != "y = 2" {
		t.Errorf("two names: got %q", x.Candidate)
	}
	// The last version of a file counts.
	if x := Extract(Code, "**a.py**\n"+block("python", "x = 1")+"**b.py**\n"+block("python", "y = 1")+"Better, **a.py**:\n"+block("python", "x = 2")+"**b.py**\n"+block("python", "y = 2"), Problem{File: "a.py"}, Options{}); x.Candidate != "x = 2" {
		t.Errorf("two versions: got %q", x.Candidate)
	}
}

// TestJSONKey: the key of the problem counts and no other; without one, the usual keys.
func TestJSONKey(t *testing.T) {
	const reply = `{"answer": "no", "my.verdict": "yes", "Verdict": "never"}`
	for key, want := range map[string]string{"my.verdict": "yes", "Verdict": "never", "verdict": "", "": "no"} {
		if x := Extract(JSONAnswer, "So:\n"+reply, Problem{Key: key}, Options{}); x.Candidate != want {
			t.Errorf("key %q: got %q, want %q", key, x.Candidate, want)
		}
		if x := Extract(YesNo, reply, Problem{Key: key}, Options{}); want != "never" && x.Candidate != want {
			t.Errorf("key %q of a reply that is an object: got %q, want %q", key, x.Candidate, want)
		}
	}
	for _, usual := range []string{"answer", "final_answer", "Final Answer", "choice", "selected_option", "correct_answer", "answer_choice", "result", "CHOICE"} {
		if x := Extract(JSONAnswer, `{"reasoning": "…", "`+usual+`": "B"}`, Problem{}, Options{}); x.Candidate != "B" {
			t.Errorf("%s: got %q", usual, x.Candidate)
		}
	}
	task, err := ReadTask("verdict.yaml", []byte("name: verdict\nvalidator: json_answer\nkey: verdict\n"))
	if err != nil {
		t.Fatal(err)
	}
	if x := Extract(task, `{"answer": "no", "verdict": "guilty"}`, Problem{}, Options{}); x.Candidate != "guilty" {
		t.Errorf("key of a task file: got %q", x.Candidate)
	}
}
