package wire

// A SocketCodec is a [Codec] whose API is also spoken over a WebSocket, at the
// endpoints of its replies. Each message of the client is a [Turn]: it asks for one
// reply. Each event of the reply is a message to the client. Turns with the same lane
// are answered one after the other; turns of different lanes may be answered at the
// same time.
//
// A turn may continue an earlier reply, of which the API may keep nothing outside the
// connection. Then whoever serves the connection keeps the items of the turns, and puts
// them into the request again.
type SocketCodec interface {
	Codec
	// Turn reads a message of a client, which is valid JSON. Its error is a *TurnError.
	Turn(message []byte) (*Turn, error)
	// TurnBody appends the body of the HTTP request for a turn: it asks for a stream.
	// earlier are the items of the conversation before the turn, with commas between
	// them. previous is the reply that the upstream is to continue; it is empty if the
	// items are all.
	TurnBody(dst []byte, t *Turn, earlier []byte, previous string) []byte
	// HearEvent adds to left what an event of the reply says. The event is a JSON object.
	HearEvent(left *TurnLeft, event []byte)
	// Message appends the message for an event of a reply in a lane.
	Message(dst, event []byte, lane string) []byte
	// WholeEvent appends the event that stands for a reply that was not streamed; ok is
	// false if the body is not a reply.
	WholeEvent(dst, body []byte) (event []byte, ok bool)
	// PreparedEvents returns the events that answer a turn that only prepares. id is the
	// id of a reply that later turns may continue: letters and digits.
	PreparedEvents(t *Turn, id string) [][]byte
	// RefusalEvent appends the event for a request that was refused with a status and a
	// body.
	RefusalEvent(dst []byte, status int, body []byte) []byte
	// TurnError returns the status and the body with which a turn is refused.
	TurnError(e *TurnError) (status int, body []byte)
}

// A Turn is what a message of a client asks for.
type Turn struct {
	Message  []byte
	Lane     string // empty for the lane without a name
	Previous string // the id of the reply that it continues; empty if none
	Prepares bool   // it asks for no reply, only for an id that later turns continue
	Discards bool   // the upstream must not store the reply
	// Traceparent and Tracestate are the turn's own W3C Trace Context, by the names of the
	// headers. Empty if the client gives only the one of the handshake.
	Traceparent, Tracestate string
	// Items are what the turn adds to the conversation, with commas between them.
	Items []byte
}

// TurnLeft is what a turn leaves for the turns that continue it.
type TurnLeft struct {
	ID     string
	Stored bool // the upstream says that it has stored the reply
	Ended  bool // the reply ended, and can be continued
	// Items are what the reply adds to the conversation, with commas between them. Refers
	// says that one was left out because it only refers to what the provider has.
	Items  []byte
	Refers bool
}

// A TurnError says why a turn is refused.
type TurnError struct {
	Fault  TurnFault
	Lane   string // of the turn, if it is known
	Detail string // what was wrong; for [TurnForgotten], the id
}

func (e *TurnError) Error() string { return e.Detail }

// A TurnFault is a reason for which an API refuses a turn.
type TurnFault uint8

const (
	TurnMalformed TurnFault = iota // the message is not a turn
	TurnBadLane                    // the name of the lane is not one
	TurnLanes                      // the connection has too many lanes
	TurnWaiting                    // too many turns wait
	TurnForgotten                  // the reply that it continues is not kept
	TurnExpired                    // the connection has reached its age
)
