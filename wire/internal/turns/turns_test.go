package turns_test

import (
	"fmt"
	"testing"

	"github.com/sotto-llm/sotto/wire/internal/turns"
	"github.com/sotto-llm/sotto/wire/turn"
)

// TestSplitKeeps: the messages that are joined and sorted are not the caller's, which is why
// one request can be written for several APIs.
func TestSplitKeeps(t *testing.T) {
	backing := []turn.Part{{Text: "a"}, {Kind: turn.Result, ID: "1"}, {Text: "spare"}, {Text: "spare"}}
	item := func(i int) turn.Message {
		return turn.Message{Role: turn.Assistant, Item: true, Parts: backing[i : i+1]}
	}
	list := []turn.Message{
		{Role: turn.System, Parts: backing[:1]}, {Role: turn.Developer, Parts: backing[1:2]},
		{Role: turn.User, Parts: backing[:2]}, {Role: turn.User, Parts: backing[:1]}, item(1), item(0), {Role: turn.Assistant, Parts: backing[1:2]},
		{Role: turn.User, Parts: backing[:2]},
	}
	before := fmt.Sprint(backing, list)
	system, rest := turns.Split(list, "own", true)
	if after := fmt.Sprint(backing, list); after != before {
		t.Errorf("%s\nbecame\n%s", before, after)
	}
	if len(system.Parts) != 2 || len(rest) != 3 || len(rest[0].Parts) != 3 || rest[0].Parts[0].ID != "1" || len(rest[1].Parts) != 3 || rest[2].Parts[0].ID != "1" {
		t.Errorf("%v, %v", system, rest)
	}
}

// TestObject: arguments that are not an object are sent as text.
func TestObject(t *testing.T) {
	for arguments, want := range map[string]string{
		"": "{}", " \n": "{}", ` {"a": 1} `: ` {"a": 1} `, "[]": `{"malformed":"[]"}`, `{"a":`: `{"malformed":"{\"a\":"}`, `"{}"`: `{"malformed":"\"{}\""}`, "{}{}": `{"malformed":"{}{}"}`,
	} {
		if got := turn.ArgumentsObject(arguments); got != want {
			t.Errorf("%q: %s", arguments, got)
		}
	}
}
