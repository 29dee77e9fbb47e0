package wire

import "net/url"

// A Carrier is a form in which a provider's servers send streams, besides the
// framing of its codecs, which is [SSE]: the same events in another envelope. Codecs
// know nothing of it. Whoever reads such a stream turns its pieces into server-sent
// events, and the codec's output back.
type Carrier struct {
	// Type is the media type of such a response. First is the first byte of its body,
	// if whole replies have the same type, or else 0.
	Type  string
	First byte
	// Asked reports whether a request for a stream asks for one in this form, by its query.
	Asked func(query url.Values) bool
	// Begin returns the reader and writer of one stream, for a client that wants the
	// reply in the form of its settings.
	Begin func(Settings) Carriage
}

// A Carriage is one stream in the form of a [Carrier]. It is not safe for concurrent
// use.
type Carriage interface {
	// Next takes the first piece of b, which begins where the piece before ended. It
	// returns the length of the piece and the event in it, as a server-sent event with
	// its data in one piece. An event without Raw says that the piece has none. The
	// length is 0 if more bytes must come first. An error is the end of the stream.
	// Where the stream is cut into reads changes nothing, and no byte is searched
	// twice.
	Next(b []byte) (n int, event Frame, err error)
	// Append appends server-sent events in the form of the stream. If they are the
	// event of the last Next, unchanged, its piece is appended as it came. Comments
	// become something that clients ignore, or nothing.
	Append(dst, events []byte) []byte
	// Last says what is wrong if the stream ends here, with rest unread.
	Last(rest []byte) error
	// End appends what a stream ends with.
	End(dst []byte) []byte
}
