package modelname

import "testing"

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, model string
		want           int
	}{
		{"qwen3*", "qwen3:8b", 5},
		{"qwen3*thinking*", "hf.co/unsloth/Qwen3-30B-A3B-Thinking-2507-GGUF:Q4_K_M", 13},
		{"deepseek-r1", `C:\\models\\DeepSeek-R1/`, 11},
		{"qwen3-30b", "models--Qwen--Qwen3-30B", 9},
		{"r1", "r12", -1},
		{"*r1", "r1x", -1},
		{"a*b*c", "aXbYc", 3},
		{"a*a", "a", -1},
	} {
		if got := Match([]string{c.pattern}, c.model); got != c.want {
			t.Errorf("Match(%q, %q) = %d, want %d", c.pattern, c.model, got, c.want)
		}
	}
	if got := Match([]string{"q*", "qwen*", "qw*"}, "qwen"); got != 4 {
		t.Errorf("the longest pattern has %d bytes, want 4", got)
	}
}

func TestFits(t *testing.T) {
	for _, tc := range []struct {
		pattern, name string
		want          bool
	}{
		{"abc", "abc", true},
		{"abc", "abcd", false},
		{"abc*", "abcd", true},
		{"*abc", "xabc", true},
		{"*abc", "abcx", false},
		{"a*a", "a", false},
		{"a*a", "aa", true},
		{"*ab*ab*", "ab", false},
		{"*ab*ab*", "xabyabz", true},
		{"a*b*c", "abbc", true},
		{"a*b*c", "acb", false},
	} {
		if got := fits(tc.pattern, tc.name); got != tc.want {
			t.Errorf("fits(%q, %q) = %v", tc.pattern, tc.name, got)
		}
	}
}
