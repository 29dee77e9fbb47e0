package v03

import (
	"encoding/json"
	"errors"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// A request is one of JSON-RPC 2.0. The id of one that comes in is a string, a
// number or null, and goes back as it came.
type request struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params,omitempty"`
}

// A response answers it, or is one event of the answer's stream.
type response struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

const rpcVersion = "2.0"

// codes are the errors of the protocol.
var codes = []struct {
	code int
	err  error
}{
	{-32700, a2a.ErrParseError},
	{-32600, a2a.ErrInvalidRequest},
	{-32601, a2a.ErrMethodNotFound},
	{-32602, a2a.ErrInvalidParams},
	{-32603, a2a.ErrInternalError},
	{-32000, a2a.ErrServerError},
	{-32001, a2a.ErrTaskNotFound},
	{-32002, a2a.ErrTaskNotCancelable},
	{-32003, a2a.ErrPushNotificationNotSupported},
	{-32004, a2a.ErrUnsupportedOperation},
	{-32005, a2a.ErrUnsupportedContentType},
	{-32006, a2a.ErrInvalidAgentResponse},
	{-32007, a2a.ErrExtendedCardNotConfigured},
	{-32008, a2a.ErrExtensionSupportRequired},
	{-32009, a2a.ErrVersionNotSupported},
	{-31401, a2a.ErrUnauthenticated},
	{-31403, a2a.ErrUnauthorized},
}

func toRPC(err error) *rpcError {
	for _, c := range codes {
		if errors.Is(err, c.err) {
			return &rpcError{c.code, err.Error()}
		}
	}
	return &rpcError{-32603, err.Error()}
}

func (e *rpcError) err() error {
	kind := a2a.ErrInternalError
	for _, c := range codes {
		if c.code == e.Code {
			kind = c.err
		}
	}
	if e.Message == "" {
		return kind
	}
	return a2a.NewError(kind, e.Message)
}
