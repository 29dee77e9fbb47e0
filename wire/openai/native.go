package openai

import (
	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/llamacpp"
)

// An either is a reply of the completions API, or one in the own form of llama.cpp's
// server, which has that form at /completions without a version. The first frame, or
// the body, shows which.
type either struct {
	openai, native wire.Reply
	is             wire.Reply // nil until it is known
}

// A written either can begin to hide reasoning.
type writtenEither struct{ either }

// Hide makes both hide reasoning.
func (e *writtenEither) Hide() {
	wire.Hide(e.openai)
	wire.Hide(e.native)
}

// of returns the reply that frames belong to from now on.
func (e *either) of(f wire.Frame) wire.Reply {
	if e.is != nil {
		return e.is
	}
	if f, ok := chatjson.Readable(f); ok && f.Data != nil {
		switch {
		case llamacpp.Fits(f.Data):
			e.is = e.native
		case jsonedit.Parse(f.Data).Get("choices").Exists():
			e.is = e.openai
		}
	}
	return e.known()
}

// known returns the reply that is known so far.
func (e *either) known() wire.Reply {
	if e.is != nil {
		return e.is
	}
	return e.openai
}

func (e *either) Frame(dst []byte, f wire.Frame, r wire.Reader) []byte {
	return e.of(f).Frame(dst, f, r)
}

func (e *either) End(dst []byte, err error, r wire.Reader) []byte {
	return e.known().End(dst, err, r)
}

func (e *either) Cut(dst []byte, r wire.Reader) []byte {
	frames, _ := wire.Cut(e.known(), r)
	return append(dst, frames...)
}

func (e *either) KeepAlive(dst []byte) []byte { return e.known().KeepAlive(dst) }

func (e *either) Whole(dst, body []byte, r wire.Reader) []byte {
	switch {
	case llamacpp.Fits(body):
		return e.native.Whole(dst, body, r)
	case jsonedit.Parse(body).IsArray(): // OpenAI's has a list inside
		r.Fail(wire.ErrUnreadable)
		return dst
	}
	return e.openai.Whole(dst, body, r)
}
