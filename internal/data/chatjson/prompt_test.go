package chatjson_test

import (
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/chatjson"
)

// TestPromptOf: the end of a prompt is known in each of its forms. Several prompts have
// several ends.
func TestPromptOf(t *testing.T) {
	for prompt, want := range map[string]string{
		`"a"`: "a", `["a"]`: "a", `[1,"a",2,"b"]`: "b", `["a",2]`: "", `["a","b"]`: "", `[1,2]`: "", `[]`: "", `null`: "", `[["a"]]`: "",
		`{"prompt_string":"a","multimodal_data":["x"]}`: "a", `[{"prompt_string":"a"}]`: "a", `{"text":"a"}`: "", `[{"prompt_string":"a"},"b"]`: "",
	} {
		if got := chatjson.PromptOf(gjson.Parse(prompt)); got != want {
			t.Errorf("%s: %q, want %q", prompt, got, want)
		}
	}
}
