package cohere

import (
	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/internal/blocks"
)

// Lists implements [wire.BlockCodec].
func (chat) Lists() (list, blocks string) { return "messages", "content" }

// Beside implements [wire.BesideCodec].
func (chat) Beside() string { return plan }

// Block implements [wire.BlockCodec].
func (chat) Block(raw string) wire.Block {
	v := jsonedit.Parse(jsonedit.BytesOf(raw))
	text := func(name string) string { return jsonedit.StringOf(chatjson.ValueText(v.Get(name))) }
	b := wire.Block{Raw: raw}
	switch k := kindOf(v); {
	case v.Get("function").IsObject(): // it stands beside the list
		b.Kind, b.ID = wire.BlockCall, text("id")
	case v.Get(plan).Exists():
		b.Kind, b.Text = wire.BlockThought, text(plan)
	case k == blocks.Text:
		b.Kind, b.Text = wire.BlockText, text(keyOf(k))
	case k == blocks.Thinking:
		b.Kind, b.Text = wire.BlockThought, text(keyOf(k))
	}
	return b
}

var _ wire.BesideCodec = chat{}
