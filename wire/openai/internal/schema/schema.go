// Package schema has the parts of OpenAI's JSON that its APIs share: the error
// object, and the annotations of a text.
package schema

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/shown"
)

// ErrUnfinished is the error of a stream that ended before the reply did.
var ErrUnfinished = errors.New("the upstream ended the stream before the reply was finished")

// Error returns the body of an error.
func Error(status int, message string) []byte { return errorOf(status, Code(status), message) }

// TooLong returns the body of the error of a request that is too long for the model.
func TooLong(message string) []byte { return errorOf(http.StatusBadRequest, tooLong, message) }

// tooLong is the code of such an error.
const tooLong = "context_length_exceeded"

// CodeOf returns the code of a fault.
func CodeOf(f *wire.Fault) string {
	if f.TooLong {
		return tooLong
	}
	return Code(f.Status)
}

func errorOf(status int, code, message string) []byte {
	kind := "invalid_request_error"
	switch {
	case status == http.StatusUnauthorized:
		kind = "authentication_error"
	case status == http.StatusForbidden:
		kind = "permission_error"
	case status == http.StatusTooManyRequests:
		kind = "rate_limit_error"
	case status >= 500:
		kind = "server_error"
	}
	type fault struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    string  `json:"code"`
	}
	body, _ := json.Marshal(map[string]fault{"error": {Message: message, Type: kind, Code: code}})
	return body
}

// Code returns an error's code: the status in words, except where clients know another.
func Code(status int) string {
	if status == http.StatusTooManyRequests {
		return "rate_limit_exceeded"
	}
	return strings.ReplaceAll(strings.ToLower(http.StatusText(status)), " ", "_")
}

// Annotation is what is shown of an annotation of a text, if reasoning is hidden.
var Annotation = shown.Object("type start_index end_index file_id container_id index", shown.Members{
	"url": shown.Text, "title": shown.Text, "filename": shown.Text,
	"url_citation": shown.Object("start_index end_index", shown.Members{"url": shown.Text, "title": shown.Text, "content": shown.Text}),
	"file":         shown.Object("hash", shown.Members{"name": shown.Text}),
})
