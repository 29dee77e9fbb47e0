package prices_test

import (
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/data/prices"
)

func TestPrices(t *testing.T) {
	list, err := prices.Read("prices.yaml", []byte("a: {input: 1.5, output: 2}\n\"b:8b\": {input: 0, output: 0}\n"))
	if err != nil || len(list) != 2 {
		t.Fatal(list, err)
	}
	if p, err := list.Of("b:8b"); err != nil || *p != (prices.Price{}) {
		t.Error(p, err)
	}
	if _, err := list.Of("c"); err == nil || !strings.Contains(err.Error(), `"c"`) {
		t.Error("an unknown model has a price:", err)
	}
	for _, bad := range []string{"a: {input: 1}", "a: {input: 1, output: -1}", "a: {input: .nan, output: 1}", "a: {input: 1, output: .inf}", "a: {input: 1, output: 1, other: 1}", "- a", "a: 3"} {
		if p, err := prices.Read("prices.yaml", []byte(bad)); err == nil {
			t.Errorf("%s: %v", bad, p)
		}
	}
}
