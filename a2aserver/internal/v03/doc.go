// Package v03 speaks protocol 0.3 of A2A, by JSON-RPC, in terms of the types of
// protocol 1.0: [Handler] serves clients of 0.3, [Client] reaches servers of 0.3,
// and [ReadCard] and [CardJSON] are for agent cards of both.
//
// The official SDK can do the same with the help of its earlier version, which
// brings gRPC and Protocol Buffers along.
package v03

import "github.com/a2aproject/a2a-go/v2/a2a"

// Version is the version of the protocol, as cards have it.
const Version a2a.ProtocolVersion = "0.3"

// The methods of the protocol.
const (
	sendMethod         = "message/send"
	streamMethod       = "message/stream"
	getMethod          = "tasks/get"
	cancelMethod       = "tasks/cancel"
	resubscribeMethod  = "tasks/resubscribe"
	setConfigMethod    = "tasks/pushNotificationConfig/set"
	getConfigMethod    = "tasks/pushNotificationConfig/get"
	listConfigsMethod  = "tasks/pushNotificationConfig/list"
	deleteConfigMethod = "tasks/pushNotificationConfig/delete"
	cardMethod         = "agent/getAuthenticatedExtendedCard"
)
