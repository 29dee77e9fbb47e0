package wire

import (
	"errors"
	"net/http"
)

// ErrUnreadable is the error of a reply with a frame that is broken JSON, or
// exceeds the bounds of what is read: it is unknown what text it holds.
var ErrUnreadable = errors.New("the upstream sent broken JSON")

// ErrUpstream is the error of a reply whose upstream reported an error.
var ErrUpstream = errors.New("the upstream ended the reply with an error")

// ErrNoObject is the error of a request body that is JSON but not an object.
var ErrNoObject = errors.New("the body is not a JSON object")

// A Fault is an error that an upstream reported, in no API's words.
type Fault struct {
	// Status is the status of HTTP that a response with this error would have: it says of what kind
	// the error is.
	Status int
	// TooLong says that the request has more tokens than the model can read.
	TooLong bool
	Text    string
}

func (f *Fault) Error() string { return f.Text }

// FaultOf returns an error as a Fault. Any other error is taken for one of an upstream that does not work as it
// should.
func FaultOf(err error) *Fault {
	if f, ok := errors.AsType[*Fault](err); ok {
		return f
	}
	return &Fault{Status: http.StatusBadGateway, Text: err.Error()}
}

// A FaultCodec is a [Codec] of an API whose errors say of what kind they are, beside the status of a response:
// they may come in a stream.
type FaultCodec interface {
	// FaultKind returns the status of an error, or 0 if it says none, and whether the request was too
	// long for the model. name is the one of its event, or the reason for which the reply ended, if that says
	// what it is, and raw is its JSON.
	FaultKind(name, raw string) (status int, tooLong bool)
}

// A LengthCodec is a [Codec] of an API that has a word of its own for a request that is too long for the
// model.
type LengthCodec interface {
	// TooLong is [Codec].Error for that.
	TooLong(message string) []byte
}

// ErrorOf returns a fault in the JSON of a codec's API.
func ErrorOf(c Codec, f *Fault) []byte {
	if l, ok := c.(LengthCodec); ok && f.TooLong {
		return l.TooLong(f.Text)
	}
	return c.Error(f.Status, f.Text)
}
