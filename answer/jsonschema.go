package answer

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/data/jsonschema"
)

// A schemaCache keeps the schema compiled last, because the replies to one problem
// follow one another.
type schemaCache struct {
	mu     sync.Mutex
	source string
	schema *jsonschema.Schema
	err    error
}

var schemas schemaCache

func (c *schemaCache) compile(source []byte) (*jsonschema.Schema, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.source != string(source) || c.schema == nil && c.err == nil {
		c.source = string(source)
		c.schema, c.err = compileSchema(c.source)
	}
	return c.schema, c.err
}

func compileSchema(source string) (*jsonschema.Schema, error) {
	if len(source) > maxJSON {
		return nil, errors.New("it is too long")
	}
	if bad := checkJSON(source); bad != nil {
		return nil, fmt.Errorf("at byte %d: %s", bad.at, bad.what)
	}
	doc, err := decodeJSON(source)
	if err != nil {
		return nil, err
	}
	return jsonschema.Compile(doc)
}

// checkSchema judges a text that is known to be JSON against a schema.
func checkSchema(text string, source []byte) Verdict {
	schema, err := schemas.compile(source)
	if err != nil {
		return Verdict{Reason: BadGold, Detail: "the schema: " + shorttext.Ellipsis(shorttext.OneLine(err.Error()), maxDetail)}
	}
	doc, err := decodeJSON(text)
	if err != nil {
		return Verdict{Reason: NotJSON, Detail: shorttext.Ellipsis(err.Error(), maxDetail)}
	}
	if faults := schema.Check(doc); len(faults) > 0 {
		return Verdict{Reason: NotSchema, Detail: schemaFault(faults)}
	}
	return Verdict{OK: true, Reason: ReasonOK}
}

// schemaFault says where a value violates its schema: "at /items/0/price: …". Of
// several faults it takes the first of the deepest ones.
func schemaFault(faults []jsonschema.Fault) string {
	worst := faults[0]
	for _, f := range faults {
		if len(f.Path) > len(worst.Path) {
			worst = f
		}
	}
	return fmt.Sprintf("at %s: %s", shorttext.Ellipsis(pointer(worst.Path), maxDetail), shorttext.Ellipsis(worst.What, maxDetail))
}

// pointer is a JSON Pointer.
func pointer(path []string) string {
	if len(path) == 0 {
		return "the root"
	}
	var b strings.Builder
	for _, step := range path {
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(step))
	}
	return b.String()
}
