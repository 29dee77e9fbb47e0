package sealedslot_test

import (
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/net/sealedslot"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/anthropic"
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
