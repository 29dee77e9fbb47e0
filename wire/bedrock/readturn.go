package bedrock

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/internal/turns"
	"github.com/sotto-llm/sotto/wire/turn"
)

var _ turn.API = converse{}

// apiName is the codec's name.
const apiName = "bedrock.converse"

// The members of a request that are objects in which several things are said.
const (
	inferenceMember = "inferenceConfig"
	toolsMember     = "toolConfig"
	outputMember    = "outputConfig"
)

// asideMembers are those of a request on which the answer does not depend: who asks, how it is
// billed, how fast it is served, and which members of the model's own reply come with the answer.
var asideMembers = []string{"requestMetadata", "serviceTier", "performanceConfig", "additionalModelResponseFieldPaths"}

// ReadTurn reads a request. The model, and whether the reply is a stream, are in the path. What
// additionalModelRequestFields say is the model's own, also about thinking.
func (converse) ReadTurn(body []byte) (*turn.Request, error) {
	root := jsonedit.Parse(body)
	if !root.IsObject() {
		return nil, wire.ErrNoObject
	}
	f := turn.FieldsOf(root)
	q := &turn.Request{}
	if v := f.Peek("system"); v.IsArray() {
		f.Take("system")
		m := turn.Message{Role: turn.System, Apart: true}
		m.Parts, m.Extra.Members = readParts(v, "system", "system")
		m.Extra.API = apiName
		q.Messages = append(q.Messages, m)
	}
	list := f.Take("messages")
	if !list.IsArray() {
		return nil, chatjson.ErrNoMessages
	}
	for i, m := range jsonedit.Members(list) {
		read, err := readTurnMessage(m.Value, fmt.Sprintf("messages[%d]", i))
		if err != nil {
			return nil, err
		}
		q.Messages = append(q.Messages, read)
	}
	var rest []turn.Member
	inside := func(name string, read func(f *turn.Fields) bool) {
		left := turns.Inside(f, apiName, name, read)
		rest = append(rest, left...)
	}
	inside(inferenceMember, func(c *turn.Fields) bool {
		q.MaxTokens = turns.Number(c, "maxTokens")
		q.Sampling.Temperature, q.Sampling.TopP = turns.Number(c, "temperature"), turns.Number(c, "topP")
		q.Stop = turns.Strings(c, "stopSequences")
		return q.MaxTokens != "" || q.Sampling.Temperature != "" || q.Sampling.TopP != "" || q.Stop != nil
	})
	inside(toolsMember, func(c *turn.Fields) (took bool) {
		var points []turn.Member
		points, took = readTools(c, q)
		rest = append(rest, points...)
		return took
	})
	inside(outputMember, func(c *turn.Fields) bool {
		format, ok := readFormat(c.Peek("textFormat"))
		if ok {
			c.Take("textFormat")
			q.Format = format
		}
		return ok
	})
	inside(modelMember, func(c *turn.Fields) bool { return readOwn(c, q) })
	q.Extra = turns.Rest(f, apiName, "", asideMembers...)
	q.Extra.Members = append(q.Extra.Members, rest...)
	return q, nil
}

func readTurnMessage(v gjson.Result, path string) (m turn.Message, err error) {
	if !v.IsObject() {
		return m, fmt.Errorf("%s is not an object", path)
	}
	f := turn.FieldsOf(v)
	switch m.Role = turn.Role(f.Text("role")); m.Role {
	case turn.System, turn.User, turn.Assistant:
	default:
		return m, fmt.Errorf("%s.role: want user, assistant or system", path)
	}
	content := f.Take("content")
	if !content.IsArray() {
		return m, fmt.Errorf("%s.content: want a list of blocks", path)
	}
	parts, points := readParts(content, path+".content", "content")
	m.Parts = parts
	m.Extra = turns.Rest(f, apiName, path)
	m.Extra.Members = append(m.Extra.Members, points...)
	return m, nil
}

// one returns the only member of an object that must have one, such as a block.
func one(v gjson.Result) (m jsonedit.Member, ok bool) {
	if !v.IsObject() {
		return m, false
	}
	n := 0
	for _, each := range jsonedit.Members(v) {
		if each.Value.Type != gjson.Null {
			m = each
			n++
		}
	}
	return m, n == 1
}

// only returns the value of the only member of an object, if it has a name.
func only(v gjson.Result, name string) gjson.Result {
	if m, ok := one(v); ok && m.Key == name {
		return m.Value
	}
	return gjson.Result{}
}

// isCachePoint reports whether a block only marks the end of what is cached. Such a block is no
// part: it is a member that is named by its place, of what has the list.
func isCachePoint(v gjson.Result) bool {
	point := only(v, "cachePoint")
	return point.IsObject()
}

// pointAt returns the place of a member that is a cache point of a list.
func pointAt(m turn.Member, list string) (at int, ok bool) {
	number, inside := strings.CutPrefix(m.Key, list+"[")
	number, closed := strings.CutSuffix(number, "]")
	if !m.Aside || !inside || !closed || !strings.HasPrefix(m.Value, "{") || m.Value == "{}" {
		return 0, false
	}
	at, err := strconv.Atoi(number)
	return at, err == nil
}

// readTools reads a toolConfig. It returns the cache points among the tools.
func readTools(c *turn.Fields, q *turn.Request) (points []turn.Member, took bool) {
	list := turns.List(c, "tools")
	for i, t := range list {
		path := fmt.Sprintf("%s.tools[%d]", toolsMember, i)
		if isCachePoint(t.Value) {
			points = append(points, turn.Member{Key: path, Value: t.Value.Raw, Aside: true})
		} else {
			q.Tools = append(q.Tools, readTool(t.Value, path))
		}
	}
	choice, ok := readChoice(c.Peek("toolChoice"))
	if ok {
		c.Take("toolChoice")
		q.Choice = choice
	}
	return points, list != nil || ok
}

func readTool(v gjson.Result, path string) turn.Tool {
	f := turn.FieldsOf(only(v, "toolSpec"))
	name, schema := turns.Text(f, "name"), only(f.Take("inputSchema"), "json")
	if name == "" || !schema.IsObject() {
		return turn.Tool{Extra: turns.Whole(apiName, path, v)}
	}
	return turn.Tool{
		Name: name, Description: turns.Text(f, "description"), Schema: schema.Raw, Strict: f.Bool("strict"),
		Extra: turns.Rest(f, apiName, path+".toolSpec"),
	}
}

func readChoice(v gjson.Result) (c turn.Choice, ok bool) {
	m, ok := one(v)
	if !ok || !m.Value.IsObject() {
		return c, false
	}
	f := turn.FieldsOf(m.Value)
	switch m.Key {
	case "auto":
		c.Mode = turn.Auto
	case "any":
		c.Mode = turn.Required
	case "tool":
		c.Mode, c.Names = turn.Required, []string{turns.Text(f, "name")}
		ok = c.Names[0] != ""
	default:
		return c, false
	}
	c.Extra = turns.Rest(f, apiName, toolsMember+".toolChoice."+m.Key)
	return c, ok
}

// readFormat reads a textFormat. Its schema is a text, which must be JSON before another API
// gets it.
func readFormat(v gjson.Result) (format turn.Format, ok bool) {
	if !v.IsObject() {
		return format, false
	}
	f := turn.FieldsOf(v)
	kind, structure := f.Text("type"), f.Take("structure")
	schema := turn.FieldsOf(only(structure, "jsonSchema"))
	text := []byte(schema.Text("schema"))
	if kind != "json_schema" || len(turns.Rest(f, apiName, "").Members) > 0 || !foreignjson.Valid(text) || !jsonedit.Parse(text).IsObject() {
		return format, false
	}
	format = turn.Format{Mode: turn.Schema, Schema: string(text), Name: turns.Text(schema, "name"), Description: turns.Text(schema, "description")}
	format.Extra = turns.Rest(schema, apiName, outputMember+".textFormat.structure.jsonSchema")
	return format, true
}

// Word implements [turn.API].
func (converse) Word(f turn.Field) string { return fieldWords[f] }

var fieldWords = map[turn.Field]string{
	turn.OfChoice: toolsMember + ".toolChoice", turn.OfThinking: modelMember + ".thinking", turn.OfFormat: outputMember + ".textFormat",
	turn.OfMaxTokens: inferenceMember + ".maxTokens", turn.OfStop: inferenceMember + ".stopSequences",
	turn.OfTemperature: inferenceMember + ".temperature", turn.OfTopP: inferenceMember + ".topP",
	turn.OfTopK:   modelMember + ".top_k",
	turn.OfFailed: "status", turn.OfStrict: "strict",
}
