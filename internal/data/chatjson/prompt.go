package chatjson

import "github.com/tidwall/gjson"

// PromptOf returns the rendered prompt of a request, or its last text if the prompt is
// a list of texts and tokens. It is empty if the request has several prompts, whose
// ends may differ.
func PromptOf(v gjson.Result) string {
	switch {
	case v.Type == gjson.String:
		return v.Str
	case v.IsObject(): // llama.cpp's form of a prompt with images
		return v.Get("prompt_string").Str
	case !v.IsArray():
		return ""
	}
	n, tokens := 0, false
	var last gjson.Result
	v.ForEach(func(_, e gjson.Result) bool {
		n, last = n+1, e
		tokens = tokens || e.Type == gjson.Number
		return true
	})
	if (n == 1 || tokens) && !last.IsArray() {
		return PromptOf(last)
	}
	return ""
}
