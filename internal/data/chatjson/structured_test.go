package chatjson_test

import (
	"testing"

	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/anthropic"
	"github.com/sotto-llm/sotto/wire/gemini"
	"github.com/sotto-llm/sotto/wire/ollama"
	"github.com/sotto-llm/sotto/wire/openai"
	"github.com/sotto-llm/sotto/wire/openai/responses"
)

// TestWantsJSON has the members by which requests of each API ask for JSON, and ones
// that ask for something else.
func TestWantsJSON(t *testing.T) {
	for _, c := range []struct {
		codec  wire.Codec
		member string
		want   bool
	}{
		{openai.Chat, `"response_format":{"type":"json_object"}`, true},
		{openai.Chat, `"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{"Type":"a","type":"object","type":"b"}}}`, true},
		{openai.Chat, `"response_format":{"type":"text"}`, false},
		{openai.Chat, `"response_format":null`, false},
		{openai.Chat, `"guided_json":{"type":"object"}`, true},
		{openai.Chat, `"guided_json":"{}"`, true},
		{openai.Chat, `"guided_json":null`, false},
		{openai.Chat, `"guided_regex":"a"`, false},
		{openai.Chat, `"structured_outputs":{"json":{"type":"object"}}`, true},
		{openai.Chat, `"structured_outputs":{"choice":["a"]}`, false},
		{openai.Completions, `"guided_json":{}`, true},
		{responses.Codec, `"text":{"format":{"type":"json_schema","name":"x","schema":{}}}`, true},
		{responses.Codec, `"text":{"format":{"type":"json_object"}}`, true},
		{responses.Codec, `"text":{"format":{"type":"text"},"verbosity":"low"}`, false},
		{ollama.Chat, `"format":"json"`, true},
		{ollama.Chat, `"format":{"type":"object"}`, true},
		{ollama.Generate, `"format":""`, false},
		{ollama.Generate, `"format":{"type":"array"}`, true},
		{anthropic.Messages, `"output_format":{"type":"json_schema","schema":{}}`, true},
		{anthropic.Messages, `"output_config":{"format":{"type":"json_schema","schema":{}},"effort":"low"}`, true},
		{anthropic.Messages, `"output_config":{"effort":"low"}`, false},
		{anthropic.Messages, `"max_tokens":1`, false},
		{gemini.GenerateContent, `"generationConfig":{"responseMimeType":"application/json"}`, true},
		{gemini.GenerateContent, `"generation_config":{"response_mime_type":"application/json"}`, true},
		{gemini.GenerateContent, `"generationConfig":{"responseMimeType":"text/plain"}`, false},
	} {
		q, err := c.codec.Request([]byte(`{"model":"m","messages":[],"prompt":"p",` + c.member + `}`))
		if err != nil || q.JSON != c.want {
			t.Errorf("%s %s: %v, %v", c.codec.Name(), c.member, q, err)
		}
	}
}
