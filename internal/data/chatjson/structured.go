package chatjson

import "github.com/tidwall/gjson"

// formats are the members by which requests ask for a reply in JSON, as paths: those
// of OpenAI's APIs, of vLLM, of llama.cpp, of Ollama and of Anthropic.
var formats = []string{
	"response_format", "text.format", "guided_json", "structured_outputs.json", "json_schema", "format", "output_format", "output_config.format",
}

// WantsJSON reports whether a request asks for a reply in JSON.
func WantsJSON(root gjson.Result) bool {
	values := pick(root, formats)
	for i, path := range formats {
		v := values[i]
		switch kind := v.Get("type").Str; path {
		case "guided_json", "structured_outputs.json", "json_schema": // a schema, as an object or as text
			if v.IsObject() || v.Type == gjson.String && v.Str != "" {
				return true
			}
		case "format": // "json", or a schema
			if v.IsObject() || v.Str == "json" {
				return true
			}
		default:
			if kind == "json_object" || kind == "json_schema" {
				return true
			}
		}
	}
	return false
}
