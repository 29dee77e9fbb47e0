package bodies

import (
	"errors"
	"mime"
	"net/http"
	"strings"

	"github.com/sotto-llm/sotto/gateway/internal/faults"
	"github.com/sotto-llm/sotto/internal/base/faultname"
)

var errCharset = errors.New("only UTF-8 is supported: send no other charset in Content-Type")

// CheckCharset refuses a request whose Content-Type names an encoding other than
// UTF-8. Bytes that are valid JSON in UTF-8 can mean something else in UTF-7 or
// UTF-16, to an upstream that honours the name. The media type itself does not
// matter: clients send JSON under many, and a body that is valid JSON cannot be
// multipart.
func CheckCharset(r *http.Request) error {
	for _, kind := range r.Header.Values("Content-Type") {
		if !strings.Contains(strings.ToLower(kind), "charset") {
			continue
		}
		_, params, err := mime.ParseMediaType(kind)
		switch charset := strings.ToLower(params["charset"]); {
		case err == nil && (charset == "utf-8" || charset == "utf8" || charset == "us-ascii"):
		default:
			return faults.New(faultname.CharsetUnsupported, http.StatusUnsupportedMediaType, errCharset)
		}
	}
	return nil
}
