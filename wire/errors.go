package wire

import "errors"

// ErrUnreadable is the error of a reply with a frame that is broken JSON, or
// exceeds the bounds of what is read: it is unknown what text it holds.
var ErrUnreadable = errors.New("the upstream sent broken JSON")

// ErrUpstream is the error of a reply whose upstream reported an error.
var ErrUpstream = errors.New("the upstream ended the reply with an error")

// ErrNoObject is the error of a request body that is JSON but not an object.
var ErrNoObject = errors.New("the body is not a JSON object")
