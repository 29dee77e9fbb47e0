package headers

import (
	"strings"
	"testing"
)

// Where reasoning is hidden, values of headers have forms in which no sentence fits.
func TestHeaderForms(t *testing.T) {
	words := someWords("max-age", "no-cache", "bytes").of
	for _, c := range []struct {
		form  Form
		value string
		ok    bool
	}{
		{aNumber, "12", true}, {aNumber, "-1.5%", true}, {aNumber, "@5", true}, {aNumber, strings.Repeat("1", 20), true}, {aNumber, strings.Repeat("1", 21), false}, {aNumber, "1h30m", true}, {aNumber, "5µs", true}, {aNumber, "true", true}, {aNumber, "yes", false}, {aNumber, "2026-01-02T03:04:05Z", true}, {aNumber, "Mon, 02 Jan 2006 15:04:05 GMT", true}, {aNumber, "", false}, {aNumber, "1 2", false}, {aNumber, "2026-01-02T03:04:05." + strings.Repeat("1", 107) + "Z", true}, {aNumber, "2026-01-02T03:04:05." + strings.Repeat("1", 108) + "Z", false},
		{aFact, "req_1/2:3=4+5@6~7;8,9|#\"-", true}, {aFact, "a b", false}, {aFact, strings.Repeat("a", 128), true}, {aFact, strings.Repeat("a", 129), false}, {aFact, "é", false}, {aFact, "", false},
		{anAddress, "https://h/p?q=1", true}, {anAddress, "/p", true}, {anAddress, "/a%20b", false}, {anAddress, "/p?q=a%20b", false}, {anAddress, "/p?q=a+b", false}, {anAddress, "/p#f", false}, {anAddress, "https://u@h/", false}, {anAddress, "/" + strings.Repeat("a", 511), true}, {anAddress, "/" + strings.Repeat("a", 512), false}, {anAddress, "/p?%zz", false}, {anAddress, "/a%07", false}, {anAddress, "://", false},
		{aMediaType, "application/json", true}, {aMediaType, "thought/secret", false}, {aMediaType, "text/" + strings.Repeat("a", 59), true}, {aMediaType, "text/" + strings.Repeat("a", 60), false}, {aMediaType, "text", true}, {aMediaType, ";", false},
		{Form{"", words}, "max-age=5, no-cache", true}, {Form{"", words}, "NO-CACHE;max-age=5", true}, {Form{"", words}, "no-cache=x", false}, {Form{"", words}, "secret", false}, {Form{"", words}, "bytes 0-5/10", true}, {Form{"", words}, "bytes */10", true}, {Form{"", words}, "5=5", false}, {Form{"", words}, strings.Repeat("1 ", 16), true}, {Form{"", words}, strings.Repeat("1 ", 17), false}, {Form{"", words}, "Mon, 02 Jan 2006 15:04:05 GMT", true},
	} {
		shown, ok := c.form.of(c.value)
		if ok != c.ok || ok && c.form.Says != aMediaType.Says && shown != c.value {
			t.Errorf("%.60q is %s: %v, %q", c.value, c.form.Says, ok, shown)
		}
	}
	for value, want := range map[string]string{"text/plain; charset=utf-8; secret=thought": "text/plain; charset=utf-8", "multipart/form-data; boundary=" + strings.Repeat("b", 64): "multipart/form-data; boundary=" + strings.Repeat("b", 64), "multipart/form-data; boundary=" + strings.Repeat("b", 65): "multipart/form-data", `text/plain; charset="a b"`: "text/plain"} {
		if got, ok := mediaType(value); !ok || got != want {
			t.Errorf("%s is shown as %q, want %q", value, got, want)
		}
	}
}
