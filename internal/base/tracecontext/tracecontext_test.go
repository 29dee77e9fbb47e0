package tracecontext

import (
	"net/http"
	"strings"
	"testing"
)

const (
	trace = "0af7651916cd43dd8448eb211c80319c"
	span  = "b7ad6b7169203331"
	valid = "00-" + trace + "-" + span + "-01"
)

// TestRead: only what the specification allows is read, and every other value is as none.
func TestRead(t *testing.T) {
	for value, want := range map[string]Parent{
		valid:                              {trace, span, false},
		"00-" + trace + "-" + span + "-00": {trace, span, true},
		"cc-" + trace + "-" + span + "-03-more-too":                          {trace, span, false}, // of a later version
		"cc-" + trace + "-" + span + "-03-" + strings.Repeat("x", maxLength): {},
		valid + "-":                        {},
		valid + " ":                        {},
		valid + "\r\nX: y":                 {},
		strings.ToUpper(valid):             {},
		"ff-" + trace + "-" + span + "-01": {},
		"00-" + strings.Repeat("0", 32) + "-" + span + "-01":  {},
		"00-" + trace + "-" + strings.Repeat("0", 16) + "-01": {},
		"00-" + trace[1:] + "-" + span + "-01":                {},
		"00-" + trace + "-" + span:                            {},
		"00-" + trace + "-" + span + "-1":                     {},
		"00-" + trace + "-" + span + "-0g":                    {},
		"":                                                    {},
		"\x00":                                                {},
	} {
		if got := Read(value); got != want {
			t.Errorf("%q: %+v, want %+v", value, got, want)
		}
	}
}

// TestEveryByte: a valid value with any one byte changed is another valid value of the same
// form, or none. What is read is written as it was.
func TestEveryByte(t *testing.T) {
	for i := range valid {
		for c := range 256 {
			value := valid[:i] + string([]byte{byte(c)}) + valid[i+1:]
			p := Read(value)
			if p.Trace == "" {
				if p != (Parent{}) || p.String() != "" {
					t.Fatalf("%q: %+v", value, p)
				}
				continue
			}
			if again := Read(p.String()); again != p {
				t.Fatalf("%q: %+v is written as %q", value, p, p)
			}
			if strings.HasPrefix(value, "00-") && p.String()[:53] != value[:53] {
				t.Fatalf("%q is written as %q", value, p)
			}
		}
	}
}

// TestChildren: calls of one trace have spans of their own, the same for the same call, and
// a trace of an identity is the same again.
func TestChildren(t *testing.T) {
	p := Of("run", "x")
	one, other := New(), New()
	if p != Of("run", "x") || p == Of("run", "y") || p == Of("runx") || one == other {
		t.Error("traces")
	}
	seen := map[string]bool{}
	for run := range 3 {
		for n := range 3 {
			c := p.Child(run, n)
			if c != p.Child(run, n) || seen[c.Span] || c.Trace != p.Trace || Read(c.String()) != c {
				t.Errorf("%+v", c)
			}
			seen[c.Span] = true
		}
	}
}

// TestContext: a context has the place that it was given, a new trace is begun only where
// there is none, and a header is set only where there is a span.
func TestContext(t *testing.T) {
	ctx := Begun(t.Context())
	h := http.Header{}
	if SetHeader(ctx, h); From(ctx).Trace == "" || len(h) != 0 || From(Begun(ctx)) != From(ctx) {
		t.Errorf("%+v, %v", From(ctx), h)
	}
	ctx = With(ctx, Read(valid))
	if SetHeader(ctx, h); h.Get("Traceparent") != valid || ReadHeader(h) != Read(valid) {
		t.Errorf("%v", h)
	}
	if h.Add(Name, valid); ReadHeader(h) != (Parent{}) {
		t.Error("two headers are read")
	}
}
