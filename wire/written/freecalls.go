package written

import (
	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/wire"
)

// original makes a whole call, or the beginning of one, that of the client's tool that its function stands for.
func (f *foreign) original(e *wire.Event) {
	if o, ok := f.bridge.Tools[e.Name]; ok && e.Name != "" {
		e.Name, e.Space, e.Free = o.Name, o.Space, o.Free
	}
	if e.Free {
		e.Text = freeText(e.Text)
	}
}

// waits reports whether the client gets a call of a function only when its arguments are complete: the
// text for a tool that takes one is a member of them.
func (f *foreign) waits(name string) bool { return f.bridge.WholeCalls || f.bridge.Tools[name].Free }

// freeText returns the text in the arguments of a function that stands for a tool which takes one.
// Arguments of another form are the text.
func freeText(arguments []byte) []byte {
	if foreignjson.Valid(arguments) {
		if v := jsonedit.Parse(arguments).Get(wire.FreeInput); v.Type == gjson.String {
			return chatjson.ValueText(v)
		}
	}
	return arguments
}
