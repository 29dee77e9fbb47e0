package settings

import (
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/net/access"
)

// limitKeys are the keys under limits.
func (s *Settings) limitKeys() []key {
	l := &s.Gateway.Limits
	return []key{
		{name: "memory", shown: "a quarter of the memory of the machine, or of the control group (container) where that is less", value: sizeOrNone(&s.memory),
			doc: "bytes held for all exchanges together; see [Memory](limits.md#memory). With `a2a: true`, a quarter of them, at most 256 MiB, is for requests of A2A, and the rest for the gateway"},
		{name: "connections", shown: "from the number of files that the process may have open: half of seven eighths of it, at most 16384", value: countOrNone(&s.Connections.Connections), restart: true,
			doc: "client connections at the same time; one more is closed at once. Over [HTTP/2](../howto/tls.md#http2), each request under way counts"},
		{name: "connections-per-address", shown: "half of all; for loopback addresses, all", value: countOrNone(&s.Connections.PerAddress), restart: true,
			doc: "connections from one IPv4 address or one IPv6 network (/64). If a reverse proxy on another machine brings all its clients from one address, set this to the value of `limits.connections`"},
		{name: "body", def: "64MiB", value: sizeValue(&l.Body),
			doc: "a request's body, on every route, and a whole reply's on the routes of models"},
		{name: "frame", def: "4MiB", value: sizeValue(&l.Frame),
			doc: "one frame of a stream"},
		{name: "header", def: "64KiB", value: sizeValue(&l.Header), restart: true,
			doc: "a request's header, and the header of an upstream's response"},
		{name: "exchanges", def: "10000", value: countValue(&l.Exchanges),
			doc: "exchanges at the same time. As many bodies of requests, and at least 256, may be on their way, as far as half of `limits.memory` allows; the oldest is cut off for one more"},
		{name: "choices", def: "1024", value: countValue(&l.Choices),
			doc: "choices of one reply"},
		{name: "hold", def: "256KiB", value: sizeValue(&l.Hold),
			doc: "bytes of a streamed reply that wait until later text decides their channel"},
		{name: "learned", def: "4096", value: countValue(&l.Learned), restart: true,
			doc: "learned starts"},
		{name: "restored", def: "4096", value: countValue(&l.Restored), restart: true,
			doc: "replies whose reasoning is remembered to restore it"},
		{name: "restored-bytes", def: "64MiB", value: sizeValue(&l.RestoredBytes), restart: true,
			doc: "the memory for those replies"},
		{name: "restored-for", def: "6h", value: durationValue(&l.RestoredFor), restart: true,
			doc: "how long they are remembered"},
		{name: "recorded", def: "4MiB", value: sizeValue(&l.Recorded),
			doc: "how much of an exchange's messages, and of its reply, is recorded"},
		{name: "labels", def: "64", value: countValue(&l.Labels), restart: true,
			doc: "models that have their own label in the metrics; all others are `other`"},
		{name: "conversations", def: "10000", value: countValue(&s.Conversations.Number), restart: true,
			doc: "[conversations with agents](../howto/agent-as-a-model.md#kept) that are kept; with `shared`, those of each caller"},
		{name: "conversations-bytes", def: "1GiB", value: sizeValue(&s.Conversations.Bytes), restart: true,
			doc: "the bytes of all of them; with `shared`, of those of each caller"},
		{name: "conversation", def: "4MiB", value: sizeValue(&s.Conversations.Each), restart: true,
			doc: "a conversation: at this size it takes no further turn; with `shared` at most 4 MiB"},
		{name: "conversations-for", def: "720h", value: durationValue(&s.Conversations.Keep), restart: true,
			doc: "how long a conversation is kept after its last turn"},
	}
}

// tokenKeys are the keys of one caller.
func tokenKeys(t *namedToken) []key {
	return []key{
		{name: "token-file", value: secretFile(&t.secret),
			doc: "the [file](../howto/tokens.md#token-files) with the tokens of the caller, or their hashes"},
		{name: "token-env", value: textValue(&t.variable, "the name of an environment variable", nil),
			doc: "the environment variable with them"},
		{name: "scopes", shown: "all but `consent`", value: listValue(&t.scopes, "a list of "+anyOf(access.Scopes()), access.CheckScope),
			doc: "what they open"},
		{name: "requests-per-minute", shown: "no limit", value: countOrNone(&t.limits.Requests),
			doc: "how many requests the caller may send in a minute; see [Limits of a caller](../howto/tokens.md#limits-of-a-caller)"},
		{name: "tokens-per-minute", shown: "no limit", value: countOrNone(&t.limits.Tokens),
			doc: "how many tokens its prompts and replies may have in a minute"},
		{name: "exchanges", shown: "no limit", value: countOrNone(&t.limits.Exchanges),
			doc: "how many requests it may have at the same time"},
	}
}

// upstreamKeys are the keys of one upstream.
func upstreamKeys(u *NamedUpstream) []key {
	return []key{
		{name: "url", shown: "required", value: serverURL(&u.URL, "a URL such as http://localhost:11434", "key-file or key-env"),
			doc: "the base URL; its path is put before the request's"},
		{name: "api", shown: "that of each request", value: wordValue(&u.api, gateway.APIs()),
			doc: "the API that it speaks, as in `upstream-api`"},
		{name: "key-file", value: secretFile(&u.key),
			doc: "the file with the API key that this upstream gets instead of the client's"},
		{name: "key-env", value: textValue(&u.variable, "the name of an environment variable", nil),
			doc: "the environment variable with that key"},
		{name: "silence", shown: "`silence`", value: orUnset(durationValue(&u.silence)),
			doc: "how long it may send nothing"},
		{name: "header-timeout", value: orUnset(durationValue(&u.header)),
			doc: "how long the header of its response may take; then the client gets 504"},
		{name: "retries", def: "0", value: retriesValue(&u.retries),
			doc: "how often a request is sent to it again; see [Retries](../howto/several-upstreams.md#retries)"},
	}
}
