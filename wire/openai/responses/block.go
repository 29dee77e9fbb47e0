package responses

import (
	"bytes"
	"strings"

	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/wire"
)

// Lists implements [wire.BlockCodec].
func (codec) Lists() (list, blocks string) { return "input", "" }

// Block implements [wire.BlockCodec].
func (codec) Block(raw string) wire.Block {
	v := jsonedit.Parse(jsonedit.BytesOf(raw))
	text := func(name string) string { return jsonedit.StringOf(chatjson.ValueText(v.Get(name))) }
	b := wire.Block{Raw: raw}
	switch kind := v.Get("type").Str; {
	case kind == "reasoning":
		b.Kind, b.Proof = wire.BlockThought, text("encrypted_content")
		var said strings.Builder
		for _, list := range []string{"summary", "content"} {
			for _, part := range v.Get(list).Array() {
				said.Write(chatjson.ValueText(part.Get("text")))
			}
		}
		b.Text = said.String()
	case kind == "function_call" || kind == "custom_tool_call":
		b.Kind, b.ID = wire.BlockCall, text("call_id")
	case kind == "message" || kind == "" && v.Get("role").Exists():
		b.Kind = wire.BlockText
		content := v.Get("content")
		if !content.IsArray() {
			b.Text = text("content")
			break
		}
		var said strings.Builder
		for _, part := range content.Array() {
			if of := part.Get("text"); of.Exists() {
				said.Write(chatjson.ValueText(of))
			} else {
				b.Kind = wire.BlockOther // a refusal, or what only the client has
			}
		}
		b.Text = said.String()
	}
	return b
}

var _ wire.BlockCodec = codec{}

// RefusesProof implements [wire.ProofRefuser]. Servers between OpenAI and the gateway pass the
// message on without its code.
func (codec) RefusesProof(body []byte) bool {
	return bytes.Contains(body, []byte("invalid_encrypted_content")) ||
		bytes.Contains(bytes.ToLower(body), []byte("encrypted content")) && bytes.Contains(body, []byte("could not be "))
}

var _ wire.ProofRefuser = codec{}
