package checks

// A Name is the stable name of what a check found. The texts are in package explain.
type Name string

// What doctor finds at a model server. A name may be of a finding, and of a check that does not
// tell.
const (
	AnswerTakenForReasoning Name = "answer-taken-for-reasoning"
	APIUnknown              Name = "api-not-known"
	BaseURL                 Name = "base-url-wrong"
	Closed                  Name = "connection-closed"
	ContextUnknown          Name = "context-not-known"
	HistoryNeeded           Name = "history-needed"
	HistoryUnknown          Name = "history-not-known"
	KeyRefused              Name = "key-refused"
	ModelUnknown            Name = "model-unknown"
	NoModel                 Name = "no-model-listed"
	NotHTTP                 Name = "not-http"
	OutOfTime               Name = "checks-out-of-time"
	ProxyPage               Name = "proxy-page"
	ReasoningInText         Name = "reasoning-in-text"
	Redirected              Name = "server-redirects"
	ReplyBrokenOff          Name = "reply-broken-off"
	ReplyEmpty              Name = "reply-empty"
	ReplyNotJudged          Name = "reply-not-judged"
	ReplyNotReadable        Name = "reply-not-readable"
	RequestFailed           Name = "request-failed"
	ServerBusy              Name = "server-busy"
	ServerNotReady          Name = "server-not-ready"
	ServerSilent            Name = "server-silent"
	ServerTLS               Name = "server-refuses-tls"
	ServerUnknown           Name = "server-not-known"
	StreamCollected         Name = "stream-collected"
	StreamNotGiven          Name = "stream-not-given"
	StreamTooShort          Name = "stream-too-short"
	SwitchUnknown           Name = "switch-not-known"
	TemplateUnknown         Name = "template-not-shown"
	TextShortened           Name = "text-shortened"
	Unreachable             Name = "server-unreachable"
	UpstreamAPI             Name = "upstream-api-wrong"
)
