package agent

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/sotto-llm/sotto/internal/data/foreignjson"
)

// A foreignSpec is what a record says of a tool of another program.
type foreignSpec struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
}

// foreignTools returns what the model is told of the tools of other programs, as a
// record has it; "" if there are none.
func foreignTools(tools []Tool) string {
	var list []foreignSpec
	for _, t := range tools {
		if f, ok := t.(*Func); ok && f.Foreign {
			s := f.Spec()
			list = append(list, foreignSpec{s.Name, s.Description, s.Schema})
		}
	}
	if list == nil {
		return ""
	}
	// A record edits settings that contain a URL, and a run needs these as they were.
	return strings.ReplaceAll(string(encode(list)), "://", `:\/\/`)
}

// withForeign returns tools of which those of other programs are described as a
// record has it.
func withForeign(tools []Tool, recorded string) ([]Tool, error) {
	if recorded == "" {
		return tools, nil
	}
	root, err := foreignjson.Parse([]byte(recorded))
	if err != nil {
		return nil, errors.New("the record does not say what the model was told of its tools")
	}
	out := make([]Tool, len(tools))
	for i, t := range tools {
		out[i] = t
		f, ok := t.(*Func)
		if !ok || !f.Foreign {
			continue
		}
		for _, was := range root.Array() {
			if was.Get("name").Str == f.Name {
				told := *f
				told.Description, told.Schema = was.Get("description").Str, was.Get("schema").Raw
				out[i] = &told
			}
		}
	}
	return out, nil
}
