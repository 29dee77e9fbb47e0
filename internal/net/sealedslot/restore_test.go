package sealedslot_test

import (
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/net/sealedslot"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/anthropic"
	"github.com/sotto-llm/sotto/wire/openai"
	"github.com/sotto-llm/sotto/wire/openai/responses"
)

// TestRestore: copies become their blocks, what does not open goes with its comma, and everything
// else stays byte for byte.
func TestRestore(t *testing.T) {
	open := func(text string) (string, bool) {
		switch text {
		case sealedslot.Prefix + "yes":
			return `{"OWN":1}`, true
		case sealedslot.Prefix + "no":
			return "", false
		}
		t.Fatalf("%q is opened", text)
		return "", false
	}
	const (
		yes  = `{"type":"thinking","thinking":"","signature":"sottoSealed1yes"}`
		no   = `{"type":"thinking","thinking":"","signature":"sottoSealed1no"}`
		text = `{"type":"text","text":"sottoSealed1yes"}`
		real = `{"type":"thinking","thinking":"Hm.","signature":"Ek"}`

		item   = `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"sottoSealed1`
		answer = `{"type":"message","role":"assistant","content":"Yes."}`
	)
	message := func(role, blocks string) string { return `{"role":"` + role + `" , "content": [` + blocks + `] }` }
	user := `{"role":"user","content":"hi"}`
	blocks, _ := anthropic.Messages.(wire.BlockCodec)
	items, _ := responses.Codec.(wire.BlockCodec)
	for _, c := range []struct {
		codec    wire.BlockCodec
		is, want string
		foreign  int
	}{
		{blocks, user, user, 0},
		{blocks, message("assistant", yes+" , "+text), message("assistant", `{"OWN":1} , `+text), 0},
		{blocks, message("assistant", no+" , "+text), message("assistant", text), 1},
		{blocks, message("assistant", text+" , "+no), message("assistant", text), 1},
		{blocks, message("assistant", yes+","+no+","+real+","+no), message("assistant", `{"OWN":1},`+real), 2},
		{blocks, message("user", yes+","+text), message("user", text), 1},
		{blocks, user + "," + message("assistant", no+","+no) + " , " + user, user + " , " + user, 2},
		{blocks, message("assistant", no) + "," + message("assistant", yes), message("assistant", `{"OWN":1}`), 1},
		{items, user + "," + item + `yes"}` + "," + answer, user + `,{"OWN":1},` + answer, 0},
		{items, item + `no"}` + "," + answer, answer, 1},
		{items, item + `no"}`, "", 1},
	} {
		list, _ := c.codec.Lists()
		body := func(of string) string { return `{ "model":"m","` + list + `":[` + of + `],"n":1e2}` }
		got, foreign := sealedslot.Restore([]byte(body(c.is)), c.codec, open)
		if string(got) != body(c.want) || foreign != c.foreign || !gjson.ValidBytes(got) {
			t.Errorf("%s\ngot  %s %d\nwant %s %d", c.is, got, foreign, body(c.want), c.foreign)
		}
	}
}

// TestRestoreLists: an element with a copy becomes the elements of its list, and what does not open goes, with a
// list that has nothing else.
func TestRestoreLists(t *testing.T) {
	open := func(text string) (string, bool) {
		return map[string]string{"yes": `[{"OWN":1},{"OWN":2}]`, "none": `[]`}[strings.TrimPrefix(text, sealedslot.Prefix)], !strings.HasSuffix(text, "no")
	}
	element := func(of string) string {
		return `{"type":"reasoning.encrypted","index":0,"data":"sottoSealed1` + of + `"}`
	}
	message := func(role, elements string) string {
		return `{"role":"` + role + `", "reasoning_details" : [` + elements + `] ,"content":"sottoSealed1yes"}`
	}
	bare := func(role string) string { return `{"role":"` + role + `" ,"content":"sottoSealed1yes"}` }
	const real = `{"type":"reasoning.text","text":"Hm.","signature":"Ek","index":0}`
	for _, c := range []struct {
		is, want string
		foreign  int
	}{
		{message("assistant", real), message("assistant", real), 0},
		{message("assistant", element("yes")), message("assistant", `{"OWN":1},{"OWN":2}`), 0},
		{message("assistant", real+","+element("no")), message("assistant", real), 1},
		{message("assistant", element("no")), bare("assistant"), 1},
		{message("assistant", element("none")), bare("assistant"), 1},
		{message("user", element("yes")), bare("user"), 1},
		{message("assistant", element("no")+","+element("yes")), message("assistant", `{"OWN":1},{"OWN":2}`), 1},
	} {
		body := func(of string) string { return `{ "messages":[` + of + `],"n":1e2}` }
		got, foreign := sealedslot.Restore([]byte(body(c.is)), openai.Chat, open)
		if string(got) != body(c.want) || foreign != c.foreign || !gjson.ValidBytes(got) {
			t.Errorf("%s\ngot  %s %d\nwant %s %d", c.is, got, foreign, body(c.want), c.foreign)
		}
	}
}
