package answer

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/sotto-llm/sotto/internal/shorttext"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

const schemaURL = "schema:///answer"

// noLoader refuses references from a schema to other documents: it reads neither
// files nor the network.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("a reference to %s: a schema may only refer to parts of itself", url)
}

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
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	if err := c.AddResource(schemaURL, doc); err != nil {
		return nil, err
	}
	return c.Compile(schemaURL)
}

// checkSchema judges a text that is known to be JSON against a schema.
func checkSchema(text string, source []byte) Verdict {
	schema, err := schemas.compile(source)
	if err != nil {
		return Verdict{Reason: BadGold, Detail: "the schema: " + shorttext.Ellipsis(oneLine(err.Error()), maxDetail)}
	}
	doc, err := decodeJSON(text)
	if err != nil {
		return Verdict{Reason: NotJSON, Detail: shorttext.Ellipsis(err.Error(), maxDetail)}
	}
	var bad *jsonschema.ValidationError
	switch err := schema.Validate(doc); {
	case err == nil:
		return Verdict{OK: true, Reason: ReasonOK}
	case errors.As(err, &bad):
		return Verdict{Reason: NotSchema, Detail: schemaFault(bad)}
	default:
		return Verdict{Reason: NotSchema, Detail: shorttext.Ellipsis(err.Error(), maxDetail)}
	}
}

// schemaFault says where a value violates its schema: "at /items/0/price: …". Of
// several faults it takes the first of the deepest ones. After prefixItems, the
// library counts the members that items applies to from 0.
func schemaFault(e *jsonschema.ValidationError) string {
	for len(e.Causes) > 0 {
		e = e.Causes[0]
	}
	what := e.ErrorKind.LocalizedString(message.NewPrinter(language.English))
	return fmt.Sprintf("at %s: %s", shorttext.Ellipsis(pointer(e.InstanceLocation), maxDetail), shorttext.Ellipsis(what, maxDetail))
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
