package guard

import (
	"testing"
)

// Each fault of a guard's rule is named by its key.
func TestGuardRuleFaults(t *testing.T) {
	for want, rule := range map[string]Rule{
		"": {Sees: []Channel{Reasoning, Answer}}, "guard-sees ": {Sees: []Channel{Answer, "x"}}, "guard-timeout ": {Timeout: -1}, "guard-wait ": {Wait: -1}, "guard-on-failure ": {OnFailure: "x"},
		"guard-sees guard-sees guard-timeout guard-wait guard-on-failure ": {Sees: []Channel{"x", "y"}, Timeout: -1, Wait: -1, OnFailure: "y"},
	} {
		got := ""
		if rule.Check(func(key string, err error) { got += key + " " }); got != want {
			t.Errorf("%+v: %s, want %s", rule, got, want)
		}
	}
	for _, f := range Failures() {
		rule := Rule{OnFailure: f}
		rule.Check(func(key string, err error) { t.Errorf("%s: %s, %v", f, key, err) })
	}
}
