package turn

import (
	"strings"

	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/internal/data/jsonwrite"
)

// Names returns the names of the tools by the ids of the calls, for results of an API that does
// not name the tool.
func Names(list []Message) map[string]string {
	var names map[string]string
	for i := range list {
		for _, p := range list[i].Parts {
			if p.Kind != Call || p.ID == "" {
				continue
			}
			if names == nil {
				names = map[string]string{}
			}
			names[p.ID] = p.Name
		}
	}
	return names
}

// ArgumentsObject returns the arguments of a call for an API that takes only an object. What is
// not an object is sent as a text in one, so that the model sees what it wrote.
func ArgumentsObject(arguments string) string {
	if strings.TrimSpace(arguments) == "" {
		return "{}"
	}
	if v, err := foreignjson.Parse([]byte(arguments)); err == nil && v.IsObject() {
		return arguments
	}
	var o jsonwrite.Object
	o.Text("malformed", arguments)
	return string(o.End())
}
