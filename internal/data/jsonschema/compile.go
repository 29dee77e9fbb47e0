// Package jsonschema checks JSON values against JSON Schemas. It reads draft
// 2020-12, and 2019-09, draft-07 and draft-06 if $schema says so. Nothing is done at
// the start of a program.
//
// Schemas and values may come from anybody. A schema refers to itself only: nothing
// is fetched. Numbers are exact. A check is bounded in its depth and in its steps.
// Values are those of encoding/json with [json.Decoder.UseNumber]; the caller bounds
// how deep they nest.
package jsonschema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sotto-llm/sotto/internal/data/foreignjson"
)

// A Schema is a compiled schema. It is safe for concurrent use.
type Schema struct {
	root  *node
	track bool // something depends on what other keywords have evaluated
}

// A resource is a document with a URI of its own: the schema, or a part with $id.
type resource struct {
	uri     string
	doc     any
	at      string // its place in the document
	anchors map[string]*node
	dynamic map[string]*node
}

// drafts are the versions that are read, by the end of their URI.
var drafts = map[string]int{
	"json-schema.org/draft/2020-12/schema": 2020, "json-schema.org/draft/2019-09/schema": 2019,
	"json-schema.org/draft-07/schema": 7, "json-schema.org/draft-06/schema": 6, "json-schema.org/schema": 2020,
}

type compiler struct {
	draft     int
	doc       any
	nodes     map[string]*node // by their place
	resources map[string]*resource
	pending   []*node // whose references are not resolved
	track     bool
}

// baseURI is that of a schema without one.
const baseURI = "schema:///"

// CompileText compiles a schema that is written as JSON.
func CompileText(text []byte) (*Schema, error) {
	if err := foreignjson.Check(text); err != nil {
		return nil, fmt.Errorf("the schema %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var doc any
	if err := d.Decode(&doc); err != nil {
		return nil, err
	}
	return Compile(doc)
}

// Compile compiles a schema: an object, true or false.
func Compile(doc any) (*Schema, error) {
	c := &compiler{doc: doc, draft: 2020, nodes: map[string]*node{}, resources: map[string]*resource{}}
	if o, ok := doc.(map[string]any); ok && o["$schema"] != nil {
		text, _ := o["$schema"].(string)
		_, after, _ := strings.Cut(strings.TrimSuffix(text, "#"), "://")
		if c.draft, ok = drafts[after]; !ok {
			return nil, fmt.Errorf("at /$schema: want draft 2020-12, 2019-09, draft-07 or draft-06")
		}
	}
	top := &resource{uri: baseURI, doc: doc, anchors: map[string]*node{}, dynamic: map[string]*node{}}
	c.resources[baseURI] = top
	root, err := c.node(doc, top, "")
	if err != nil {
		return nil, err
	}
	for len(c.pending) > 0 {
		n := c.pending[0]
		c.pending = c.pending[1:]
		if err := c.resolve(n); err != nil {
			return nil, err
		}
	}
	return &Schema{root, c.track}, nil
}

// A node is one schema of a document. What is absent is nil, or -1 for a bound.
type node struct {
	at       string
	resource *resource
	never    bool // false

	refText, dynamicText string
	ref, dynamicRef      *node
	dynamicAnchor        string // of the reference's target, if it is dynamic

	types     []string
	enum      []any
	constant  []any // one value
	multiple  *big.Rat
	bounds    []bound
	minLength int
	maxLength int
	pattern   *regexp.Regexp

	minItems, maxItems       int
	unique                   bool
	prefix                   []*node
	items                    *node
	contains                 *node
	containsEvaluates        bool // for unevaluatedItems
	minContains, maxContains int
	unevaluatedItems         *node

	minProperties, maxProperties int
	required                     []string
	dependentRequired            []dependency
	dependentSchemas             []named
	properties                   map[string]*node
	patterns                     []patternNode
	additional                   *node
	propertyNames                *node
	unevaluatedProperties        *node

	allOf, anyOf, oneOf  []*node
	not, then, otherwise *node
	condition            *node
}

type bound struct {
	name      string
	than      *big.Rat
	sign      int // the comparison with the bound that is wrong
	exclusive bool
}

type named struct {
	name string
	*node
}

// A dependency says which properties one property needs.
type dependency struct {
	name  string
	needs []string
}

type patternNode struct {
	re *regexp.Regexp
	*node
}

// errAt is the error of a keyword.
func errAt(at, format string, args ...any) error {
	if at == "" {
		at = "the root"
	}
	return fmt.Errorf("at %s: %w", at, fmt.Errorf(format, args...))
}

// node compiles the schema at a place.
func (c *compiler) node(doc any, in *resource, at string) (*node, error) {
	if n := c.nodes[at]; n != nil {
		return n, nil
	}
	n := &node{at: at, resource: in, minLength: -1, maxLength: -1, minItems: -1, maxItems: -1, minContains: -1, maxContains: -1, minProperties: -1, maxProperties: -1}
	c.nodes[at] = n
	switch doc := doc.(type) {
	case bool:
		n.never = !doc
		return n, nil
	case map[string]any:
		if len(c.nodes) > maxNodes {
			return nil, fmt.Errorf("the schema has more than %d parts", maxNodes)
		}
		o := &object{c: c, n: n, doc: doc, at: at}
		o.compile()
		return n, o.err
	}
	return nil, errAt(at, "want a schema: an object, true or false")
}

// maxNodes bounds the parts of a schema.
const maxNodes = 20_000

// An object reads the keywords of one schema. err is the first fault.
type object struct {
	c   *compiler
	n   *node
	doc map[string]any
	at  string
	err error
}

func (o *object) fail(key, format string, args ...any) {
	if o.err == nil {
		o.err = errAt(o.at+"/"+escaped(key), format, args...)
	}
}

// legacy reports whether the draft is one before 2019-09.
func (o *object) legacy() bool { return o.c.draft < 2019 }

func (o *object) compile() {
	_, isRef := o.doc["$ref"]
	if !isRef || !o.legacy() { // in these drafts, nothing beside $ref counts
		o.identity()
	}
	o.references()
	for _, key := range []string{"$defs", "definitions"} {
		o.each(key, func(string, *node) {})
	}
	if isRef && o.legacy() {
		return
	}
	o.values()
	o.arrays()
	o.objects()
	o.combined()
}

// identity reads $id, $anchor and $dynamicAnchor.
func (o *object) identity() {
	if id := o.text("$id"); id != "" {
		if o.legacy() && strings.HasPrefix(id, "#") {
			o.n.resource.anchors[id[1:]] = o.n
		} else {
			o.newResource(id)
		}
	}
	if name := o.text("$anchor"); name != "" && !o.legacy() {
		o.n.resource.anchors[name] = o.n
	}
	if name := o.text("$dynamicAnchor"); name != "" && o.c.draft == 2020 {
		o.n.resource.anchors[name], o.n.resource.dynamic[name] = o.n, o.n
	}
}

func (o *object) newResource(id string) {
	uri, fragment, err := join(o.n.resource.uri, id)
	if err != nil || fragment != "" && !o.legacy() {
		o.fail("$id", "want a URI without a fragment")
		return
	}
	r := o.c.resources[uri]
	if r != nil && r.at != o.at {
		o.fail("$id", "two parts have this URI")
		return
	}
	r = &resource{uri: uri, doc: o.doc, at: o.at, anchors: map[string]*node{}, dynamic: map[string]*node{}}
	if o.at == "" { // the document keeps its first name too
		o.c.resources[baseURI] = r
	}
	o.c.resources[uri] = r
	o.n.resource = r
	if fragment != "" {
		r.anchors[fragment] = o.n
	}
}

func (o *object) references() {
	for _, key := range []string{"$recursiveRef", "$recursiveAnchor"} {
		if _, there := o.doc[key]; there && o.c.draft == 2019 {
			o.fail(key, "this keyword is not supported: use draft 2020-12")
		}
	}
	o.n.refText = o.text("$ref")
	if o.c.draft == 2020 {
		o.n.dynamicText = o.text("$dynamicRef")
	}
	if o.n.refText != "" || o.n.dynamicText != "" {
		o.c.pending = append(o.c.pending, o.n)
	}
}

func (o *object) values() {
	n := o.n
	switch t := o.doc["type"].(type) {
	case nil:
	case string:
		n.types = []string{t}
	default:
		n.types = o.texts("type")
	}
	for _, t := range n.types {
		if !slices.Contains([]string{"null", "boolean", "object", "array", "number", "string", "integer"}, t) {
			o.fail("type", "unknown type %q", t)
		}
	}
	if v, there := o.doc["enum"]; there {
		list, ok := v.([]any)
		if !ok {
			o.fail("enum", "want a list")
		}
		n.enum = append([]any{}, list...)
	}
	if v, there := o.doc["const"]; there {
		n.constant = []any{v}
	}
	if n.multiple = o.number("multipleOf"); n.multiple != nil && n.multiple.Sign() <= 0 {
		o.fail("multipleOf", "want a number above 0")
	}
	for _, b := range []bound{{name: "minimum", sign: -1}, {name: "maximum", sign: 1}, {name: "exclusiveMinimum", sign: -1, exclusive: true}, {name: "exclusiveMaximum", sign: 1, exclusive: true}} {
		if b.than = o.number(b.name); b.than != nil {
			n.bounds = append(n.bounds, b)
		}
	}
	n.minLength, n.maxLength = o.count("minLength"), o.count("maxLength")
	if text, there := o.doc["pattern"]; there {
		n.pattern = o.regexp("pattern", text)
	}
}

func (o *object) arrays() {
	n := o.n
	n.minItems, n.maxItems, n.unique = o.count("minItems"), o.count("maxItems"), o.yes("uniqueItems")
	if list, isList := o.doc["items"].([]any); isList && o.c.draft < 2020 {
		for i, v := range list {
			n.prefix = append(n.prefix, o.part("items", strconv.Itoa(i), v))
		}
		n.items = o.schema("additionalItems")
	} else {
		n.items = o.schema("items")
		if o.c.draft == 2020 {
			n.prefix = o.list("prefixItems")
		}
	}
	n.contains, n.containsEvaluates = o.schema("contains"), o.c.draft == 2020
	if !o.legacy() {
		n.minContains, n.maxContains = o.count("minContains"), o.count("maxContains")
		n.unevaluatedItems = o.schema("unevaluatedItems")
		o.c.track = o.c.track || n.unevaluatedItems != nil
	}
}

func (o *object) objects() {
	n := o.n
	n.minProperties, n.maxProperties, n.required = o.count("minProperties"), o.count("maxProperties"), o.texts("required")
	n.properties = map[string]*node{}
	o.each("properties", func(name string, s *node) { n.properties[name] = s })
	o.each("patternProperties", func(name string, s *node) {
		if re := o.regexp("patternProperties", name); re != nil {
			n.patterns = append(n.patterns, patternNode{re, s})
		}
	})
	n.additional, n.propertyNames = o.schema("additionalProperties"), o.schema("propertyNames")
	o.dependencies()
	if o.legacy() {
		return
	}
	o.each("dependentSchemas", func(name string, s *node) { n.dependentSchemas = append(n.dependentSchemas, named{name, s}) })
	members := o.members("dependentRequired")
	for _, name := range slices.Sorted(maps.Keys(members)) {
		o.depend("dependentRequired", name, members[name])
	}
	n.unevaluatedProperties = o.schema("unevaluatedProperties")
	o.c.track = o.c.track || n.unevaluatedProperties != nil
}

// dependencies reads the older form of both kinds of dependencies, which later drafts
// allow too.
func (o *object) dependencies() {
	members := o.members("dependencies")
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if _, isList := members[name].([]any); isList {
			o.depend("dependencies", name, members[name])
		} else {
			o.n.dependentSchemas = append(o.n.dependentSchemas, named{name, o.part("dependencies", name, members[name])})
		}
	}
}

func (o *object) depend(key, name string, v any) {
	list, ok := texts(v)
	if !ok {
		o.fail(key, "want lists of names")
		return
	}
	o.n.dependentRequired = append(o.n.dependentRequired, dependency{name, list})
}

func (o *object) combined() {
	n := o.n
	n.allOf, n.anyOf, n.oneOf, n.not = o.list("allOf"), o.list("anyOf"), o.list("oneOf"), o.schema("not")
	if o.c.draft > 6 {
		n.condition, n.then, n.otherwise = o.schema("if"), o.schema("then"), o.schema("else")
	}
}

// The functions below read a keyword. They return nothing if it is absent or wrong.

func (o *object) text(key string) string {
	v, there := o.doc[key]
	s, ok := v.(string)
	if there && !ok {
		o.fail(key, "want a text")
	}
	return s
}

func (o *object) texts(key string) []string {
	v, there := o.doc[key]
	if !there {
		return nil
	}
	list, ok := texts(v)
	if !ok {
		o.fail(key, "want a list of different texts")
	}
	return list
}

func texts(v any) (list []string, ok bool) {
	values, ok := v.([]any)
	for _, v := range values {
		s, isText := v.(string)
		if !isText || slices.Contains(list, s) {
			return nil, false
		}
		list = append(list, s)
	}
	return list, ok
}

func (o *object) number(key string) *big.Rat {
	v, there := o.doc[key]
	if !there {
		return nil
	}
	n, isNumber := v.(json.Number)
	x, ok := rat(n)
	if !isNumber || !ok {
		o.fail(key, "want a number of at most %d digits", maxDigits)
		return nil
	}
	return x
}

func (o *object) count(key string) int {
	x := o.number(key)
	if x == nil {
		return -1
	}
	if !x.IsInt() || x.Sign() < 0 {
		o.fail(key, "want a whole number, 0 or above")
		return -1
	}
	if !x.Num().IsInt64() || x.Num().Int64() > maxCount {
		return maxCount
	}
	return int(x.Num().Int64())
}

// maxCount is more than anything that is counted.
const maxCount = 1 << 40

func (o *object) yes(key string) bool {
	v, there := o.doc[key]
	yes, ok := v.(bool)
	if there && !ok {
		o.fail(key, "want true or false")
	}
	return yes
}

func (o *object) regexp(key string, v any) *regexp.Regexp {
	text, ok := v.(string)
	re, err := regexp.Compile(text)
	if !ok || err != nil {
		o.fail(key, "want a regular expression, as Go reads them")
		return nil
	}
	return re
}

func (o *object) members(key string) map[string]any {
	v, there := o.doc[key]
	members, ok := v.(map[string]any)
	if there && !ok {
		o.fail(key, "want an object")
	}
	return members
}

func (o *object) schema(key string) *node {
	v, there := o.doc[key]
	if !there {
		return nil
	}
	return o.sub(o.at+"/"+escaped(key), v)
}

func (o *object) list(key string) []*node {
	v, there := o.doc[key]
	if !there {
		return nil
	}
	values, ok := v.([]any)
	if !ok || len(values) == 0 {
		o.fail(key, "want a list of schemas")
	}
	var list []*node
	for i, v := range values {
		list = append(list, o.part(key, strconv.Itoa(i), v))
	}
	return list
}

// each compiles the members of a keyword, in the order of their names.
func (o *object) each(key string, add func(name string, s *node)) {
	members := o.members(key)
	for _, name := range slices.Sorted(maps.Keys(members)) {
		add(name, o.part(key, name, members[name]))
	}
}

func (o *object) part(key, name string, v any) *node {
	return o.sub(o.at+"/"+escaped(key)+"/"+escaped(name), v)
}

func (o *object) sub(at string, v any) *node {
	n, err := o.c.node(v, o.n.resource, at)
	if err != nil && o.err == nil {
		o.err = err
	}
	return n
}

// escaped returns a name as JSON Pointers have it.
func escaped(name string) string {
	if !strings.ContainsAny(name, "~/") {
		return name
	}
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// join resolves a reference against a URI, and splits off its fragment.
func join(base, ref string) (uri, fragment string, err error) {
	b, err := url.Parse(base)
	if err != nil {
		return "", "", err
	}
	r, err := b.Parse(ref)
	if err != nil {
		return "", "", err
	}
	if strings.HasPrefix(ref, "#") { // also where the base is opaque, such as urn:…
		r2 := *b
		r2.Fragment = r.Fragment
		r = &r2
	}
	fragment, r.Fragment, r.RawFragment = r.Fragment, "", ""
	return r.String(), fragment, nil
}

// resolve finds what the references of a node lead to.
func (c *compiler) resolve(n *node) (err error) {
	if n.refText != "" {
		if n.ref, _, err = c.target(n, n.refText); err != nil {
			return errAt(n.at+"/$ref", "%w", err)
		}
	}
	if n.dynamicText != "" {
		var anchor string
		if n.dynamicRef, anchor, err = c.target(n, n.dynamicText); err != nil {
			return errAt(n.at+"/$dynamicRef", "%w", err)
		}
		if n.dynamicRef.resource.dynamic[anchor] == n.dynamicRef {
			n.dynamicAnchor = anchor
		}
	}
	return nil
}

// target returns the node that a reference leads to, and the anchor that names it.
func (c *compiler) target(n *node, ref string) (*node, string, error) {
	uri, fragment, err := join(n.resource.uri, ref)
	if err != nil {
		return nil, "", errors.New("want the URI of a schema")
	}
	r := c.resources[uri]
	switch {
	case r == nil:
		return nil, "", fmt.Errorf("%.200q is not in the schema: only references within it are followed", ref)
	case fragment == "":
		return c.nodes[r.at], "", nil
	case !strings.HasPrefix(fragment, "/"):
		if to := r.anchors[fragment]; to != nil {
			return to, fragment, nil
		}
		return nil, "", fmt.Errorf("there is no anchor %.200q", fragment)
	}
	return c.walk(r, fragment)
}

// walk follows a JSON Pointer within a resource.
func (c *compiler) walk(r *resource, pointer string) (*node, string, error) {
	doc, at := r.doc, r.at
	for part := range strings.SplitSeq(pointer[1:], "/") {
		at += "/" + part
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		switch d := doc.(type) {
		case map[string]any:
			var there bool
			if doc, there = d[part]; !there {
				return nil, "", fmt.Errorf("there is nothing at %.200q", pointer)
			}
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(d) {
				return nil, "", fmt.Errorf("there is nothing at %.200q", pointer)
			}
			doc = d[i]
		default:
			return nil, "", fmt.Errorf("there is nothing at %.200q", pointer)
		}
		if n := c.nodes[at]; n != nil {
			r = n.resource
		}
	}
	n, err := c.node(doc, r, at)
	return n, "", err
}
