package gateway

import (
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/reply/toolcall"
)

// toolset returns the tools that calls in a reply's text may call. It is nil if they stay
// text.
func (x *exchange) toolset() map[string]*toolcall.Tool {
	q := x.request
	if len(q.Declared) == 0 || x.route.Calls != routing.CallsField || x.route.Display == routing.DisplayKeep || q.NoCalls || !x.codec.Capabilities().Calls {
		return nil
	}
	tools := make(map[string]*toolcall.Tool, len(q.Declared))
	for _, t := range q.Declared {
		if tools[t.Name] == nil {
			tools[t.Name] = toolcall.NewTool(t.Schema)
		}
	}
	return tools
}
