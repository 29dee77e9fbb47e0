package bedrock

import (
	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/internal/blocks"
)

// Lists implements [wire.BlockCodec].
func (converse) Lists() (list, blocks string) { return "messages", "content" }

// Block implements [wire.BlockCodec].
func (converse) Block(raw string) wire.Block {
	v := jsonedit.Parse(jsonedit.BytesOf(raw))
	text := func(path string) string { return jsonedit.StringOf(chatjson.ValueText(v.Get(path))) }
	b := wire.Block{Raw: raw}
	switch {
	case v.Get("text").Exists():
		b.Kind, b.Text = wire.BlockText, text("text")
	case v.Get("reasoningContent").Exists():
		b.Kind, b.Text = wire.BlockThought, text("reasoningContent.reasoningText.text")
		b.Proof = text("reasoningContent.reasoningText.signature") + text("reasoningContent.redactedContent")
	case v.Get(callMember).Exists():
		b.Kind, b.ID = wire.BlockCall, text(callMember+".toolUseId")
	}
	return b
}

var _ wire.BlockCodec = converse{}

// RefusesProof implements [wire.ProofRefuser].
func (converse) RefusesProof(body []byte) bool { return blocks.RefusesProof(body) }

var _ wire.ProofRefuser = converse{}
