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
	// Conversation is the id of the conversation that the turn belongs to; empty if it
	// belongs to none. Background says that nobody waits for the reply, and Streams that its
	// events are asked for. A message over a WebSocket sets none of them.
	Conversation        string
	Background, Streams bool
	// Traceparent and Tracestate are the turn's own W3C Trace Context, by the names of the
	// headers. Empty if the client gives only the one of the handshake.
	Traceparent, Tracestate string
	// Items are what the turn adds to the conversation, with commas between them.
	Items []byte
	// Fixed says that the provider has the conversation, or shortens it, so that nothing can be added to it while the
	// reply is under way.
	Fixed bool
}

// TurnLeft is what a turn leaves for the turns that continue it.
type TurnLeft struct {
	ID     string // once the reply has begun
	Stored bool   // the upstream says that it has stored the reply
	Ended  bool   // the reply ended, and can be continued
	// Items are what the reply adds to the conversation, with commas between them. Refers
	// says that one was left out because it only refers to what the provider has.
	Items  []byte
	Refers bool
	// Needs are what the client has to give before the conversation goes on, such as the results of calls: items
	// without that, with commas between them.
	Needs []byte
}

// A TurnError says why a turn is refused.
type TurnError struct {
	Fault  TurnFault
	Lane   string // of the turn, if it is known
	Detail string // what was wrong; for [TurnForgotten] and [TurnNoConversation], the id
}

func (e *TurnError) Error() string { return e.Detail }

// A TurnFault is a reason for which an API refuses a turn.
type TurnFault uint8

const (
	TurnMalformed      TurnFault = iota // the message is not a turn
	TurnBadLane                         // the name of the lane is not one
	TurnLanes                           // the connection has too many lanes
	TurnWaiting                         // too many turns wait
	TurnForgotten                       // the reply that it continues is not kept
	TurnExpired                         // the connection has reached its age
	TurnNoConversation                  // the conversation that it names is not kept
	TurnLocked                          // another turn of that conversation is under way
)

// A SteerCodec is a [SocketCodec] whose clients may add to a conversation while a reply is under way. The model
// learns of it in a reply that follows at once, or, if the client has to give results first, together with these.
type SteerCodec interface {
	SocketCodec
	// Steer reads a message of a client, which is valid JSON; ok is false if it does not steer. If reason is not
	// empty, the message is not as the API wants it, and s has what could be read.
	Steer(message []byte) (s Steer, ok bool, reason string)
	// Steered returns the message of a turn that has the settings of another one, and continues a reply with some
	// items, with commas between them.
	Steered(t *Turn, reply string, items []byte) []byte
	// SteerEvent appends the event that says what becomes of an addition.
	SteerEvent(dst []byte, s *Steer, e SteerEvent) []byte
}

// A Steer is what a client adds to a conversation while a reply is under way.
type Steer struct {
	ID    string // which the gateway gives it; empty if it is refused
	Reply string // the id of the reply
	Input []byte // as the client sent it, in JSON
	Items []byte // the same, as items with commas between them
}

// A SteerEvent says what becomes of a [Steer].
type SteerEvent struct {
	Number int         // of the connection's events of this kind, from 0 on
	Needs  []byte      // for one that waits: what the client has to give first, as in [TurnLeft]
	Fault  *SteerFault // for one that is given back; if this and Needs are empty, it was accepted
}

// A SteerFault says why a client gets an addition back.
type SteerFault struct {
	Code   SteerCode
	Detail string // for [SteerMalformed], what was wrong
}

// A SteerCode is a reason for which an addition is given back.
type SteerCode uint8

const (
	SteerMalformed SteerCode = iota // the message is not as the API wants it
	SteerUnknown                    // the connection has no such reply
	SteerOver                       // the reply had ended
	SteerFixed                      // nothing can be added to the conversation, see [Turn.Fixed]
	SteerFull                       // too much waits to be added
	SteerFailed                     // the reply failed
	SteerRefused                    // the reply that was to follow could not begin
)
