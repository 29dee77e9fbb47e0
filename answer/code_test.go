package answer

import "testing"

func TestCodeFind(t *testing.T) {
	for _, c := range []struct{ text, lang, want string }{
		{"```python\nx = 1\n```", "python", "x = 1\n"},
		{"```py\nx = 1\n```", "Python", "x = 1\n"},
		{"```python\nx = 1\n```\n```\n$ run\n```", "python", "x = 1\n"},
		{"```python\nx = 1\n```\n```sh\nrun\n```", "", "x = 1\n"},
		{"```sh\nrun\n```", "", "run\n"},
		{"`test_f.py`:\n```python\nx = 2\n```\n`f.py`:\n```python\nx = 1\n```\n`f_test.py`\n```python\nx = 3\n```", "python", "x = 1\n"},
		{"```\nx = 1\n```", "python", "x = 1\n"},
		{"```go\nx := 1\n```", "python", ""},
		{"~~~ python title=\"x\"\nx = 1\n~~~", "python", "x = 1\n"},
		{"```{.python}\nx = 1\n```", "python", "x = 1\n"},
		{"````python\n\"\"\"\n```\n\"\"\"\n````", "python", "\"\"\"\n```\n\"\"\"\n"},
		{"```python\nx = 0\n```\n```python\nx = 1", "python", "x = 1"},
		{"```python\nx = 1\n```\n```python\n\n```", "python", "x = 1\n"},
		{"x = 1", "python", ""},
	} {
		if got := lastFound(Code, c.text, Problem{Lang: c.lang}); got != c.want {
			t.Errorf("%q, %q: %q, want %q", c.text, c.lang, got, c.want)
		}
	}
}

func TestCode(t *testing.T) {
	for _, c := range []struct{ written, want string }{
		{"\n  if x:  \r\n    y\n\n", "  if x:\n    y"},
		{"```python\n  x = 1\n```", "  x = 1"},
		{"```python\n  x = 1", "  x = 1"},
		{"text\n```python\nx = 1\n```", "text\n```python\nx = 1\n```"},
		{"", ""},
	} {
		if got := Code.Normalise(c.written); got != c.want {
			t.Errorf("%q: %q, want %q", c.written, got, c.want)
		}
	}
	for _, c := range []struct {
		candidate, gold string
		want            Reason
	}{{"x", "", ReasonOK}, {"x", "```\nx \n```", ReasonOK}, {"x", "y", Different}, {"x", " x", Different}, {" ", "x", Empty}} {
		if v := Code.Validate(c.candidate, Problem{Gold: c.gold}); v.Reason != c.want || v.OK != (c.want == ReasonOK) {
			t.Errorf("%q against %q: %+v, want %s", c.candidate, c.gold, v, c.want)
		}
	}
}
