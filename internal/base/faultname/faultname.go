// Package faultname has the names of the errors with which the servers of this project
// answer a request. A name is stable: programs may compare it, and sotto explain NAME says
// what it means and what to do. The texts are in package explain.
package faultname

import "net/http"

// A Name is the name of an error: words of lower-case letters with hyphens between them.
type Name string

// Header has the name of the error in the answer to a request that failed.
const Header = "Sotto-Error"

// Set puts a name into the header of an answer. No name leaves the header as it is.
func Set(h http.Header, n Name) {
	if n != "" {
		h.Set(Header, string(n))
	}
}

// Requests that are not admitted.
const (
	CertificateUntrusted Name = "certificate-untrusted"
	HeaderRepeated       Name = "header-repeated"
	HeaderTooLarge       Name = "header-too-large"
	HostNotServed        Name = "host-not-served"
	KeyInURL             Name = "key-in-url"
	MethodNotServed      Name = "method-not-served"
	OriginNotAllowed     Name = "origin-not-allowed"
	PathMalformed        Name = "path-malformed"
	RouteClosed          Name = "route-closed"
	RouteNotRead         Name = "route-not-read"
	ScopeMissing         Name = "scope-missing"
	SignedByAWS          Name = "signed-by-aws"
	TokenExpired         Name = "token-expired"
	TokenMissing         Name = "token-missing"
	WebSocketClosed      Name = "websocket-closed"
	WebSocketNotRead     Name = "websocket-not-read"
	WrongTokens          Name = "wrong-tokens"
)

// Requests for which there is no room, or no time.
const (
	GatewayStopping Name = "gateway-stopping"
	LimitReached    Name = "limit-reached"
	MemoryExceeded  Name = "memory-exceeded"
	MemoryUsedUp    Name = "memory-used-up"
	PlacesTaken     Name = "places-taken"
)

// Bodies and requests that cannot be read, or not be carried out.
const (
	BodyBrokenOff          Name = "body-broken-off"
	BodyLate               Name = "body-late"
	BodyNotJSON            Name = "body-not-json"
	BodyTooLarge           Name = "body-too-large"
	CharsetUnsupported     Name = "charset-unsupported"
	CompactionSealed       Name = "compaction-sealed"
	CompressionBroken      Name = "compression-broken"
	CompressionUnsupported Name = "compression-unsupported"
	EchoRefused            Name = "echo-refused"
	ModelUnknown           Name = "model-unknown"
	ParameterInvalid       Name = "parameter-invalid"
	ReasoningDemanded      Name = "reasoning-demanded"
	ReasoningStranded      Name = "reasoning-stranded"
	RequestNotTranslated   Name = "request-not-translated"
	RequestUnreadable      Name = "request-unreadable"
	RouteNotTranslated     Name = "route-not-translated"
	ThinkingSwitchRefused  Name = "thinking-switch-refused"
	TooManyNamed           Name = "too-many-named"
)

// What is kept for a caller, here or at the upstream.
const (
	ConversationFull         Name = "conversation-full"
	ConversationUnreadable   Name = "conversation-unreadable"
	ConversationsCrowded     Name = "conversations-crowded"
	ConversationsUnreachable Name = "conversations-unreachable"
	ItemUnknown              Name = "item-unknown"
	ListOfAllCallers         Name = "list-of-all-callers"
	NotYours                 Name = "not-yours"
	ReplyElsewhere           Name = "reply-elsewhere"
)

// Errors that the Responses API has a code for. The name is that code, with hyphens.
const (
	ConversationLocked          Name = "conversation-locked"
	ConversationNotFound        Name = "conversation-not-found"
	InvalidRequest              Name = "invalid-request"
	InvalidStreamID             Name = "invalid-stream-id"
	PreviousResponseNotFound    Name = "previous-response-not-found"
	WebSocketConnectionLimit    Name = "websocket-connection-limit-reached"
	WebSocketQueueFull          Name = "websocket-queue-full"
	WebSocketStreamLimitReached Name = "websocket-stream-limit-reached"
	ContextLengthExceeded       Name = "context-length-exceeded"
)

// Replies that could not be delivered.
const (
	DeadlinePassed  Name = "deadline-passed"
	GuardEnded      Name = "guard-ended"
	GuardFailed     Name = "guard-failed"
	ModelsUnlisted  Name = "models-unlisted"
	NoVisibleAnswer Name = "no-visible-answer"
	ReplyUnreadable Name = "reply-unreadable"
	StartUnknown    Name = "start-unknown"
	ThinkingStopped Name = "thinking-stopped"
	UpstreamFailed  Name = "upstream-failed"
	UpstreamRefused Name = "upstream-refused"
	UpstreamSilent  Name = "upstream-silent"
)
