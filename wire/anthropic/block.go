package anthropic

import (
	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/internal/blocks"
)

// Lists implements [wire.BlockCodec].
func (messages) Lists() (list, blocks string) { return "messages", "content" }

// Block implements [wire.BlockCodec].
func (messages) Block(raw string) wire.Block {
	v := jsonedit.Parse(jsonedit.BytesOf(raw))
	text := func(name string) string { return jsonedit.StringOf(chatjson.ValueText(v.Get(name))) }
	b := wire.Block{Raw: raw}
	switch v.Get("type").Str {
	case textBlock:
		b.Kind, b.Text = wire.BlockText, text("text")
	case thinkingBlock:
		b.Kind, b.Text, b.Proof = wire.BlockThought, text("thinking"), text("signature")
	case sealedBlock:
		b.Kind, b.Proof = wire.BlockThought, text("data")
	case callBlock:
		b.Kind, b.ID = wire.BlockCall, text("id")
	}
	return b
}

var _ wire.BlockCodec = messages{}

// RefusesProof implements [wire.ProofRefuser].
func (messages) RefusesProof(body []byte) bool { return blocks.RefusesProof(body) }

var _ wire.ProofRefuser = messages{}
