package turn

import (
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsonwrite"
)

// Described returns the schema with the description in it, for an API that has no other place for
// that. A schema that has one stays as it is.
func (f *Format) Described() string {
	v := jsonedit.Parse([]byte(f.Schema))
	if f.Description == "" || !v.IsObject() || v.Get("description").Exists() {
		return f.Schema
	}
	var o jsonwrite.Object
	o.Text("description", f.Description)
	for _, m := range jsonedit.Members(v) {
		o.Raw(m.Key, m.Value.Raw)
	}
	return string(o.End())
}
