package jsonedit

import "testing"

func TestMend(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":NaN,"b":[-Infinity,Infinity,-1],"c":"NaN \" Infinity"}`: `{"a":null,"b":[null,null,-1],"c":"NaN \" Infinity"}`,
		"\xEF\xBB\xBF{}": "{}",
		`{"a":"open`:     `{"a":"open`,
		`{"a":1}`:        `{"a":1}`,
		"":               "",
	} {
		if got := string(Mend([]byte(in))); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
