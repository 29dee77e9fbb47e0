package yamlfile_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/data/yamlfile"
)

func repeat(s string) func(n int) string {
	return func(n int) string { return strings.Repeat(s, n/len(s)) }
}

func around(before, s, after string) func(n int) string {
	return func(n int) string { return before + strings.Repeat(s, n/len(s)) + after }
}

func numbered(before, format, after string) func(n int) string {
	return func(n int) string {
		var b strings.Builder
		b.WriteString(before)
		for i := 0; b.Len() < n; i++ {
			fmt.Fprintf(&b, format, i)
		}
		return b.String() + after
	}
}

// shapes are files that have made some YAML reader slow or large: by nesting, by
// the number of keys, or by lines that belong together.
var shapes = map[string]func(n int) string{
	"open lists": repeat("["), "open mappings": repeat("{a: "), "lists in a line": repeat("- "), "keys of keys": repeat("? "),
	"values of values": repeat("a: "), "closed lists": repeat("]"), "commas": repeat(","), "colons": repeat(": "),
	"keys": numbered("", "k%d: 1\n", ""), "keys of one name": repeat("k: 1\n"), "keys in braces": numbered("{", "k%d: 1, ", "}"),
	"bare keys in braces": around("{", "a,", "}"), "list": repeat("- a\n"), "list in brackets": around("[", "a, ", "a]"),
	"keys, CR LF": repeat("a: b\r\n"), "merge keys": repeat("<<: {}\n"),
	"comments": repeat("# a\n"), "comments after values": repeat("- a # b\n# c\n\n"), "comments below keys": repeat("a:\n  # x\n"),
	"plain text": around("a: ", "x", ""), "plain lines": around("a: x\n", "  x\n", ""),
	"quoted lines": around(`a: "`, "x\n", `"`), "escapes": around(`a: "`, `\u0041`, `"`), "single quotes": around("a: '", "''", "'"),
	"literal lines": around("a: |\n", "  x\n", ""), "literal blank lines": around("a: |\n", "\n", ""),
	"literal paragraphs": around("a: |\n", "  x\n\n", ""), "folded paragraphs": around("a: >\n", "  x\n\n", ""),
	"literals": repeat("- |\n"), "blank lines": around("", "\n", "a: 1"), "spaces": around("", " ", "a: 1"),
	"digits": around("a: ", "9", ""), "a long key": around("", "x", ": 1"), "documents": repeat("---\n"), "document ends": repeat("...\n"),
	"anchors": numbered("", "- &a%d 1\n", ""), "anchors of one name": repeat("- &a 1\n"), "aliases": around("a: &a [1]\nb: [", "*a,", "]"),
	"tags": repeat("- !t 1\n"), "tags of tags": repeat("!a "), "anchors of anchors": repeat("&a "),
	"tag directives": numbered("", "%%TAG !a%d! tag:x\n", "---\na"),
}

// allocated returns the memory allocated to read a file, in bytes.
func allocated(data []byte) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _ = yamlfile.Read(data)
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// The memory to read a file grows with its size, not with the square of its size. A
// file of twice the size allocates no more than about twice as much, and no file
// allocates more than 2 KiB per byte. (goccy/go-yaml allocated 2.4 GB for 40 KB of
// brackets, and 94 MB for 40 KB of keys.)
func TestLinear(t *testing.T) {
	const n = 50_000
	for name, shape := range shapes {
		small, large := allocated([]byte(shape(n))), allocated([]byte(shape(2*n)))
		if large > 5*small/2+1<<20 || large > 2*n<<11 {
			t.Errorf("%s: %d KB take %d KB, %d KB take %d KB", name, n>>10, small>>10, 2*n>>10, large>>10)
		}
	}
}

func TestBounds(t *testing.T) {
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	bomb := "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c <= 'j'; c++ {
		bomb += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.Repeat(fmt.Sprintf("*%c,", c-1), 10))
	}
	for _, c := range []struct{ name, text, want string }{
		{"at the depth", nested(100), ""},
		{"deeper", nested(101), "line 1, column 101: lists and mappings nest deeper than 100 levels"},
		{"deeper, in lines", strings.Repeat("- ", 101) + "a", "line 1, column 201: lists and mappings nest deeper than 100 levels"},
		{"200 KB of brackets", strings.Repeat("[", 200_000), "line 1, column 101: lists and mappings nest deeper than 100 levels"},
		{"at the size", "a: " + strings.Repeat("x", 1<<20-3), ""},
		{"larger", "a: " + strings.Repeat("x", 1<<20-2), "larger than 1 MiB"},
		{"at the nodes", strings.Repeat("- a\n", 99_999), ""},
		{"more nodes", strings.Repeat("- a\n", 100_000), "more than 100000 keys and values"},
		{"aliases of aliases", bomb, ""}, // which nobody expands
		{"a directive", "%TAG ! x\n---\na", "line 1, column 1: a directive, which is not supported"},
		{"two documents", "a: 1\n---\nb: 2\n", "line 3, column 1: a second document begins here: want only one"},
		{"not UTF-8", "a: 1\nb: \xff", "line 2, column 4: not valid UTF-8"},
		{"a control character", "a: é\x1b", "line 1, column 5: a control character (0x1b)"},
		{"no end of a list", "a: [1\n", "line 1, column 4: not valid YAML: did not find expected ',' or ']'"},
		{"a tab", "a:\n\tb: 1\n", "line 2, column 1: not valid YAML: found character that cannot start any token"},
	} {
		_, err := yamlfile.Read([]byte(c.text))
		if got := fmt.Sprint(err); got != c.want && (err != nil || c.want != "") {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		var e *yamlfile.Error
		if err != nil && !errors.As(err, &e) {
			t.Errorf("%s: %T", c.name, err)
		}
	}
}

// A node knows its kind and its place, and its value is what the equivalent JSON
// would give.
func TestNodes(t *testing.T) {
	n, err := yamlfile.Read([]byte("\uFEFF# what it is\nlist: [1, -2, 0x10, 1.5, true, ~, yes, '1', 2001-02-03]\n? key\n: {a: \"x\\n\", b: }\n1: |\n  text\n  more\n"))
	if err != nil {
		t.Fatal(err)
	}
	v, err := n.Value()
	got, _ := json.Marshal(v)
	const want = `{"1":"text\nmore\n","key":{"a":"x\n","b":null},"list":[1,-2,16,1.5,true,null,"yes","1","2001-02-03"]}`
	if string(got) != want || err != nil {
		t.Errorf("%s, %v", got, err)
	}
	var kinds []yamlfile.Kind
	for _, item := range n.Members[0].Value.Items {
		kinds = append(kinds, item.Kind)
	}
	if got := fmt.Sprint(kinds); got != "[a number a number a number a number that is not whole a truth value nothing text text text]" {
		t.Error(got)
	}
	at := n.Members[1].Value.Members[1].Key
	if at.Text != "b" || at.Line != 4 || at.Column != 14 {
		t.Errorf("%+v", at)
	}
	for text, want := range map[string]string{
		"a: &x 1": "line 1, column 4: an anchor, which is not supported", "a: &x 1\nb: *x": "line 1, column 4: an anchor, which is not supported",
		"- !!str 1": "line 1, column 3: a tag, which is not supported", "a: 1\na: 2": `line 2, column 1: the key "a" appears twice`,
		"{[a]: 1}": "line 1, column 2: want a key that is a string, not a list",
	} {
		n, err := yamlfile.Read([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := n.Value(); fmt.Sprint(err) != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	for _, nothing := range []string{"", "\n", "# a\n", "---\n---\n"} {
		if n, err := yamlfile.Read([]byte(nothing)); n != nil || err != nil {
			t.Errorf("%q: %v, %v", nothing, n, err)
		}
	}
}

// What is written is read back the same, including text that looks like something
// else.
func TestWrite(t *testing.T) {
	texts := []string{"a", "", "1", "true", "~", "yes", "2001-02-03", "*", "&a", "a: b", "# x", "a\nb", " x ", "é", "\"", "'", "-", "%a", "\t", strings.Repeat("long ", 40)}
	m := &yamlfile.Node{Kind: yamlfile.Mapping}
	m.Add("number", yamlfile.IntNode(-3))
	m.Add("on", yamlfile.BoolNode(true))
	list := yamlfile.ListNode()
	for _, text := range texts {
		m.Add("k"+text, yamlfile.TextNode(text))
		list.Items = append(list.Items, yamlfile.TextNode(text))
	}
	m.Add("list", list)
	data, err := yamlfile.Write(m)
	if err != nil {
		t.Fatal(err)
	}
	again, err := yamlfile.Read(data)
	if err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	v, err := again.Value()
	if err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	want := map[string]any{"number": -3, "on": true, "list": texts}
	for _, text := range texts {
		want["k"+text] = text
	}
	got, _ := json.Marshal(v)
	if wanted, _ := json.Marshal(want); string(got) != string(wanted) {
		t.Errorf("%s\nwant %s", got, wanted)
	}
}

func FuzzRead(f *testing.F) {
	for _, shape := range shapes {
		f.Add([]byte(shape(40)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		n, err := yamlfile.Read(data)
		if n != nil && err == nil {
			_, _ = n.Value()
		}
	})
}
