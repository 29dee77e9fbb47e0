package gemini

import (
	"cmp"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/wire"
)

// Lists implements [wire.BlockCodec].
func (codec) Lists() (list, blocks string) { return "contents", "parts" }

// Block implements [wire.BlockCodec].
func (codec) Block(raw string) wire.Block {
	v := jsonedit.Parse(jsonedit.BytesOf(raw))
	text := func(v gjson.Result) string { return jsonedit.StringOf(chatjson.ValueText(v)) }
	b := wire.Block{Raw: raw, Proof: text(chatjson.Either(v, signatureMember))}
	call := chatjson.Either(v, callMember)
	switch {
	case call.IsObject():
		b.Kind, b.ID = wire.BlockCall, cmp.Or(text(call.Get("id")), text(call.Get("name")))
	case v.Get(thoughtMember).Bool(), !v.Get("text").Exists() && b.Proof != "":
		b.Kind, b.Text = wire.BlockThought, text(v.Get("text"))
	case v.Get("text").Exists():
		b.Kind, b.Text = wire.BlockText, text(v.Get("text"))
	}
	return b
}

// IsReply implements [wire.JoiningCodec].
func (codec) IsReply(raw string) bool {
	return jsonedit.Parse(jsonedit.BytesOf(raw)).Get("role").Str == "model"
}

var _ wire.JoiningCodec = codec{}
