// Package tracecontext reads and writes traceparent of W3C Trace Context, and carries it in
// a context: the trace that the work belongs to, and the span that what is called is below.
package tracecontext

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
)

// Name is that of the header of HTTP, and of the member of metadata.
const Name = "traceparent"

// A Parent is a place in a trace. The zero value is outside every trace.
type Parent struct {
	// Trace and Span are identifiers in lower-case hexadecimal, of 16 and 8 bytes. Span may be
	// empty: then the trace begins here.
	Trace, Span string
	// Unsampled says that whoever began the trace does not want it to be collected.
	Unsampled bool
}

// maxLength is how long a value of a later version may be.
const maxLength = 256

// Read reads a value of traceparent. What is not one gives the zero Parent.
func Read(value string) Parent {
	if len(value) > maxLength {
		return Parent{}
	}
	parts := strings.Split(value, "-") // version-trace-span-flags, and more in later versions
	if len(parts) < 4 || !isHex(parts[0], 2) || parts[0] == "ff" || !isHex(parts[1], 32) || !isHex(parts[2], 16) || !isHex(parts[3], 2) || parts[0] == "00" && len(parts) > 4 {
		return Parent{}
	}
	flags, _ := hex.DecodeString(parts[3])
	return Parent{parts[1], parts[2], flags[0]&1 == 0}
}

// isHex reports whether a text is an identifier of n hexadecimal digits, in lower
// case and not all zero.
func isHex(text string, n int) bool {
	return len(text) == n && strings.Trim(text, "0123456789abcdef") == "" && (n == 2 || strings.Trim(text, "0") != "")
}

// ReadHeader reads the header of a request. Of two headers, none counts.
func ReadHeader(h http.Header) Parent {
	if list := h.Values(Name); len(list) == 1 {
		return Read(list[0])
	}
	return Parent{}
}

// String returns the value of traceparent; "" if there is no span.
func (p Parent) String() string {
	if p.Trace == "" || p.Span == "" {
		return ""
	}
	flags := "01"
	if p.Unsampled {
		flags = "00"
	}
	return "00-" + p.Trace + "-" + p.Span + "-" + flags
}

// New begins a trace.
func New() Parent { return Parent{Trace: random(16)} }

// Within returns the place of two identifiers; the span may be "". What is not an identifier
// of a trace or of a span gives the zero Parent.
func Within(trace, span string) Parent {
	if !isHex(trace, 32) || span != "" && !isHex(span, 16) {
		return Parent{}
	}
	return Parent{Trace: trace, Span: span}
}

// Of begins the trace of something that has an identity, so that it is the same trace when
// it goes on after a crash.
func Of(identity ...any) Parent { return Parent{Trace: derived(16, identity)} }

// Child returns the place of a call below p, which identity distinguishes from other calls
// of the same trace. Outside a trace there is none.
func (p Parent) Child(identity ...any) Parent {
	if p.Trace == "" {
		return Parent{}
	}
	p.Span = derived(8, append([]any{p.Trace}, identity...))
	return p
}

func random(n int) string {
	b := make([]byte, n)
	rand.Read(b)
	return hex.EncodeToString(b)
}

func derived(n int, identity []any) string {
	sum := sha256.Sum256([]byte("sotto trace" + fmt.Sprintf("%q", identity)))
	return hex.EncodeToString(sum[:n])
}

type key struct{}

// With returns a context of work at a place.
func With(ctx context.Context, p Parent) context.Context { return context.WithValue(ctx, key{}, p) }

// From returns the place of a context.
func From(ctx context.Context) Parent {
	p, _ := ctx.Value(key{}).(Parent)
	return p
}

// Begun returns a context that has a trace: its own, or a new one.
func Begun(ctx context.Context) context.Context {
	if From(ctx).Trace != "" {
		return ctx
	}
	return With(ctx, New())
}

// SetHeader says in a request where the work of its context is.
func SetHeader(ctx context.Context, h http.Header) {
	if text := From(ctx).String(); text != "" {
		h.Set(Name, text)
	}
}
