package bodies

import (
	"net/http/httptest"
	"testing"
)

// Bodies are read in UTF-8 only.
func TestCharsets(t *testing.T) {
	for kind, ok := range map[string]bool{"": true, "application/json": true, "text/plain; charset=UTF-8": true, "x; charset=utf8": true, "text/plain; charset=us-ascii": true, "text/plain; charset=utf-7": false, "text/plain; charset": false, "text/plain; Charset=utf-16": false} {
		r := httptest.NewRequest("POST", "/", nil)
		if kind != "" {
			r.Header["Content-Type"] = []string{"application/json", kind}
		}
		if err := CheckCharset(r); (err == nil) != ok {
			t.Errorf("%q: %v", kind, err)
		}
	}
}
