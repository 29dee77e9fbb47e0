// Package headers decides which headers pass the gateway: those of an upstream's response, its trailers and its
// informational responses, and those of a client's request.
package headers

import (
	"strings"
	"sync"
)

// A Group is headers of an upstream's response that clients get. All others stay
// here: they could speak for the gateway, or carry what a reply's body may not.
type Group struct {
	Names  string // separated by spaces; one that ends in * stands for all that begin so
	Why    string // clients get them
	Hidden Form   // what their values must be where reasoning is hidden
}

// Groups are all headers that pass from an upstream's response, its trailers and its
// informational responses. The first group with a name decides. Set-Cookie and what the
// gateway says of itself have rules of their own.
var Groups = []Group{
	{"content-type", "how to read the body", aMediaType},
	{"content-length content-encoding content-language content-md5 digest content-digest repr-digest", "how to read the body", aFact},
	{"content-range accept-ranges", "which part of a file this is", someWords("bytes", "none")},
	{"content-disposition", "whether the body is a file", someWords("attachment", "inline")},
	{"date age expires last-modified", "how old the response is", aNumber},
	{"etag", "whether a copy is still right", aFact},
	{"cache-control pragma", "who may keep a copy", someWords("no-cache", "no-store", "no-transform", "private", "public", "must-revalidate", "proxy-revalidate",
		"immutable", "max-age", "s-maxage", "stale-while-revalidate", "stale-if-error")},
	{"vary", "who may keep a copy", someWords("*", "accept", "accept-encoding", "accept-language", "authorization", "content-type", "cookie", "origin", "user-agent")},
	{"allow", "what the path accepts", someWords("get", "head", "post", "put", "patch", "delete", "options")},
	{"www-authenticate", "why it is 401", someWords("bearer", "basic", "negotiate")},
	{"location x-goog-upload-url x-goog-upload-control-url", "where to go on, such as with an upload", anAddress},
	{"retry-after retry-after-ms x-should-retry openai-poll-after-ms", "when to ask again", aNumber},
	{"deprecation sunset", "until when the path works", aNumber},
	{"server", "which program answers", aFact},
	{"x-accel-buffering", "a proxy before the gateway must not hold a stream back", someWords("no", "yes")},
	{"x-content-type-options x-frame-options referrer-policy", "what a browser must not do", someWords("nosniff", "deny", "sameorigin", "no-referrer", "same-origin")},
	{"link content-location content-security-policy x-api-warning x-error-message", "text that the provider documents", unseen},
	{"request-id x-request-id x-correlation-id x-trace-id trace-id x-client-request-id x-generation-id x-debug-trace-id apim-request-id mistral-correlation-id traceresponse x-cloud-trace-context x-log-id x-tt-logid x-error-code",
		"the id to name when something fails", aFact},
	{"ratelimit ratelimit-* x-ratelimit-* x-rate-limit-* x-endpoint-monthly-call-limit x-trial-endpoint-*", "what is left of limits",
		someWords("limit", "remaining", "reset", "policy", `"default"`, "q", "w", "r", "t")},
	{"openai-* anthropic-* x-amzn-* x-amz-* x-goog-* x-gemini-* x-ms-* azureml-* x-groq-* x-together-* x-ds-* x-fireworks-* fireworks-* x-openrouter-* x-dashscope-* msh-* x-codex-* x-oai-* x-models-etag x-reasoning-included num_chars num_tokens",
		"what the provider's SDK reads", aFact},
	{"x-litellm-* x-vllm-* x-inference-* x-compute-* x-metrics-* x-total-* x-validation-time x-queue-time x-time-per-token x-prompt-tokens x-generated-tokens x-process-time x-response-time", "what the server says of its work", aFact},
	{"cf-ray cf-cache-status cf-aig-* x-envoy-upstream-service-time x-kong-* x-portkey-* helicone-*", "what a gateway or proxy before the model says of its work", aFact},
	{"upgrade connection sec-websocket-*", "how a WebSocket begins", aFact},
}

// copiedPrefix begins the names under which LiteLLM copies the headers of its provider.
// They pass if those pass.
const copiedPrefix = "llm_provider-"

// A nameList is the groups by whole name and by beginning of a name.
type nameList struct {
	whole, begins map[string]*Group
}

// listed makes the list when a response first needs it.
var listed = sync.OnceValue(func() nameList {
	whole, begins := map[string]*Group{}, map[string]*Group{}
	for i := range Groups {
		for name := range strings.FieldsSeq(Groups[i].Names) {
			if prefix, ok := strings.CutSuffix(name, "*"); ok {
				begins[prefix] = &Groups[i]
			} else if whole[name] == nil {
				whole[name] = &Groups[i]
			}
		}
	}
	return nameList{whole, begins}
})

// groupOf returns the group of a header; nil if it does not pass.
func groupOf(name string) *Group {
	name = strings.TrimPrefix(strings.ToLower(name), copiedPrefix)
	list := listed()
	if g := list.whole[name]; g != nil {
		return g
	}
	for prefix, g := range list.begins {
		if strings.HasPrefix(name, prefix) && len(name) > len(prefix) {
			return g
		}
	}
	return nil
}
