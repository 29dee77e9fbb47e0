package gemini_test

import (
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/wire/gemini"
	"github.com/sotto-llm/sotto/wire/internal/turntest"
)

var turns = gemini.GenerateContent

// bodies are requests that are read and written as the same.
var bodies = []string{
	`{"contents":[{"role":"user","parts":[{"text":"Hello"}]}]}`,
	`{"contents":{"parts":{"text":"Hello"}}}`,
	`{"systemInstruction":{"role":"user","parts":[{"text":"Be brief."},{"text":"And kind."}]},"contents":[{"role":"user","parts":[{"text":"Hi"},{"text":"there"}]},
		{"role":"model","parts":[{"text":"I think","thought":true},{"text":"","thought":true,"thoughtSignature":"c2ln"},{"text":"Hello"},{"text":"","thoughtSignature":"c2ln"}]},
		{"role":"model","parts":[{"thoughtSignature":"bG9uZQ=="},{"text":"x","thought":false,"partMetadata":{"a":1},"":2}]},{"role":"user","parts":[{"text":"And"}]}],
		"cachedContent":"cachedContents/1","labels":{"a":"b"},"store":true,"model":"models/m","safetySettings":[{"category":"HARM_CATEGORY_HARASSMENT","threshold":"OFF"}]}`,
	`{"contents":[{"role":"user","parts":[
		{"inlineData":{"mimeType":"image/png","data":"eA==","displayName":"a.png"},"mediaResolution":{"level":"MEDIA_RESOLUTION_LOW"}},
		{"inlineData":{"mimeType":"image/png","data":"eA=="},"mediaResolution":{"level":"MEDIA_RESOLUTION_HIGH","numTokens":5}},
		{"inlineData":{"mimeType":"audio/wav","data":"eA=="}},{"inlineData":{"data":"eA=="}},{"inlineData":{"mimeType":"image/png"}},
		{"fileData":{"mimeType":"video/mp4","fileUri":"https://example.com/v"},"videoMetadata":{"startOffset":"1s","fps":0.50}},
		{"fileData":{"fileUri":"gs://b/a.pdf","mimeType":"application/pdf","displayName":"a"}},{"fileData":{"mimeType":"a/b"}},
		{"executableCode":{"language":"PYTHON","code":"print()"}},{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"1"},"thoughtSignature":"cw=="},
		{"toolCall":{"toolType":"GOOGLE_SEARCH_WEB","args":{}}}]},
		{"role":"model","parts":[{"inlineData":{"mimeType":"image/png","data":"eA=="},"thoughtSignature":"cw=="},{"thought":true,"inlineData":{"mimeType":"image/png","data":"eA=="}}]}]}`,
	`{"contents":[{"role":"user","parts":[{"text":"Weather?"}]},
		{"role":"model","parts":[{"functionCall":{"id":"c1","name":"f","args":{"a":1.50,"b":[{"c":"\u00e9"}]}},"thoughtSignature":"c2ln"},{"functionCall":{"name":"f","args":{}}},{"functionCall":{"name":"g"}},
			{"functionCall":{"name":"g","args":{"x":1},"willContinue":false,"partialArgs":[{"jsonPath":"$.a"}]}}]},
		{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"f","response":{"output":"sunny"}}},{"functionResponse":{"name":"f","response":{"error":"no such place"}}},
			{"functionResponse":{"name":"g","response":{"degrees":20.0,"output":"x"},"scheduling":"SILENT"}}]},
		{"role":"user","parts":[{"functionResponse":{"name":"g","response":{}}},{"functionResponse":{"name":"g"}},{"text":"So?"}]},
		{"role":"function","parts":[{"functionResponse":{"name":"g","response":{"output":["a","b"]},"parts":[{"inlineData":{"mimeType":"image/png","data":"eA==","displayName":"i"}},{"fileData":{"fileUri":"gs://a","mimeType":"image/png"}},{"text":"no"}]}}]},
		{"role":"user","parts":[{"functionResponse":{"name":"g","response":{"output":"{\"a\":1}"}}},{"functionResponse":{"name":"g","response":{"output":"{\"output\":\"x\"}"}}},
			{"functionResponse":{"name":"g","response":{"output":"{\"output\":\"{\\\"a\\\":1}\"}"}}},{"functionResponse":{"name":"g","response":{"output":"{}"}}},
			{"functionResponse":{"name":"g","response":{"output":["a"]}}},{"functionResponse":{"name":"g","response":{"output":["a",1]}}},
			{"functionResponse":{"name":"g","response":{"output":{"a":"b"}}}},{"functionResponse":{"name":"g","response":{"error":{"code":5}}}},
			{"functionResponse":{"name":"g","response":{"error":["a","b"]}}},{"functionResponse":{"name":"g","response":{"error":"{\"a\":1}"}}}]},
		{"role":"model","parts":[]},{"role":"user"}]}`,
	`{"contents":[{"parts":[{"text":"x"}]}],"tools":[
		{"functionDeclarations":[{"name":"f","description":"does","parameters":{"type":"OBJECT","properties":{"a":{"type":"STRING","nullable":true}}}},{"name":"g"}]},{"googleSearch":{}},
		{"functionDeclarations":[{"name":"h","parametersJsonSchema":{"type":"object","$defs":{"a":{}}},"responseJsonSchema":{"type":"string"},"behavior":"BLOCKING"},{"description":"nameless"}],"urlContext":{}},
		{"codeExecution":{}},{},{"functionDeclarations":[]}],
		"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["f","g"],"streamFunctionCallArguments":true},"retrievalConfig":{"latLng":{"latitude":1.0}}}}`,
	`{"contents":[{"parts":[{"text":"x"}]}],"toolConfig":{"functionCallingConfig":{"mode":"VALIDATED"},"includeServerSideToolInvocations":true},"generationConfig":{"thinkingConfig":{"includeThoughts":true}}}`,
	`{"contents":[{"parts":[{"text":"x"}]}],"toolConfig":{"functionCallingConfig":{"mode":"VALIDATED","allowedFunctionNames":["f"]}},"generationConfig":{"responseMimeType":"text/plain"}}`,
	`{"contents":[{"parts":[{"text":"x"}]}],"toolConfig":{"functionCallingConfig":{"mode":"AUTO"}},"generationConfig":{"responseMimeType":"text/x.enum","responseSchema":{"type":"STRING","enum":["a"]}}}`,
	`{"contents":[{"parts":[{"text":"x"}]}],"toolConfig":{"functionCallingConfig":{"mode":"NONE","allowedFunctionNames":["f"]}},"generationConfig":{"responseMimeType":"application/json"}}`,
	`{"contents":[{"parts":[{"text":"x"}]}],"toolConfig":{"retrievalConfig":{"languageCode":"en"}},"generationConfig":{"responseMimeType":"application/json","responseSchema":{"type":"OBJECT"}}}`,
	`{"contents":[{"parts":[{"text":"x"}]}],"generationConfig":{"temperature":0.70,"topP":1,"topK":40.0,"presencePenalty":-1,"frequencyPenalty":1e-1,"seed":12345678901234567890,
		"maxOutputTokens":100,"candidateCount":2,"stopSequences":["a","b"],"responseMimeType":"application/json","responseJsonSchema":{"type":"object"},
		"thinkingConfig":{"thinkingBudget":1024,"includeThoughts":true},"responseModalities":["TEXT"],"speechConfig":{"languageCode":"de"},"responseLogprobs":true,"logprobs":3}}`,
	`{"contents":[{"parts":[{"text":"x"}]}],"generationConfig":{"thinkingConfig":{"thinkingLevel":"LOW","zz":1},"stopSequences":["a",1],"topK":"40"}}`,
	`{"contents":[{"parts":[{"text":"x"}]}],"think":true,"generationConfig":{"thinkingConfig":{"thinkingLevel":"high","thinkingBudget":-1}}}`,
	`{"contents":[],"tools":[],"toolConfig":{},"generationConfig":{},"systemInstruction":{}}`,
	`{"contents":[{"parts":[null,"x",{"text":"x"}]},"x"],"tools":["x",null]}`,
	`{"contents":"Hello","systemInstruction":"Be brief.","tools":"x"}`,
}

func TestTurnSame(t *testing.T) {
	for _, body := range bodies {
		turntest.Same(t, turns, body, normal)
	}
}

// normal is a request with what the API takes for the same: a single object for a list of one, the role
// of a content that has none, and a response of a tool that has none. An empty list of parts is as none, and so is
// an empty string for an ID.
func normal(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = normal(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = normal(v[key])
			if one, ok := v[key].(map[string]any); ok && strings.Contains(" contents parts tools functionDeclarations ", " "+key+" ") {
				v[key] = []any{one}
			}
			if list, ok := v[key].([]any); ok && len(list) == 0 && key == "parts" {
				delete(v, key)
			}
		}
		if result, ok := v["functionResponse"].(map[string]any); ok && result["response"] == nil {
			result["response"] = map[string]any{}
		}
		list, _ := v["contents"].([]any)
		for _, e := range list {
			if content, ok := e.(map[string]any); ok && content["role"] == nil {
				content["role"] = "user"
			}
		}
	}
	return v
}
