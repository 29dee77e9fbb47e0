package gguf

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
)

const sums = "<think>\nIs 6 × 7 = 42? Yes, 6 × 7 is 42.\n</think>\n\n42, yes. 👍"

func write(t *testing.T, s Script) file {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, s); err != nil {
		t.Fatal(err)
	}
	f, err := read(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// The end of a prompt chooses the reply, and the file contains it.
func TestReplies(t *testing.T) {
	var c Cutter
	f := write(t, Script{Name: "n", Replies: []Reply{
		{Cue: "<|a|>", Pieces: c.Cut(sums)},
		{Cue: "<|a|>\n<think>\n", Pieces: c.Cut("Opened.</think>Done.")},
		{Cue: "<think>\n", Pieces: []string{"\xf0\x9f", "\x91\x8d", "\x00", "\xad\x7f\xa0 "}},
		{Cue: "<|mute|>"},
		{Pieces: c.Cut("What do you mean?")},
	}})
	for prompt, want := range map[string]string{
		"6 × 7?<|a|>":              sums,
		"6 × 7?<|a|>\n<think>\n":   "Opened.</think>Done.",
		"6 × 7?<think>\n":          "👍\x00\xad\x7f\xa0 ",
		"<|a|>6 × 7?<|mute|>":      "",
		"<|a|>6 × 7?":              "What do you mean?",
		"<|a|>\n<think>\nno\n\xc3": "What do you mean?",
	} {
		if got := f.reply(prompt); got != want {
			t.Errorf("after %q: %q, want %q", prompt, got, want)
		}
	}
}

// Without a reply for other prompts the model ends its turn at once.
func TestNoReply(t *testing.T) {
	for _, s := range []Script{{}, {Replies: []Reply{{Cue: "<|a|>", Pieces: []string{"Yes."}}}}} {
		if got := write(t, s).reply("hello"); got != "" {
			t.Errorf("%d replies: %q", len(s.Replies), got)
		}
	}
}

// What engines check when they load a model: the shapes, and that the lists of
// the vocabulary agree.
func TestShape(t *testing.T) {
	f := write(t, Script{Name: "shape", Replies: []Reply{{Cue: "<|a|>", Pieces: []string{"one", " two"}}}})
	const tokens, width = 256 + 1 + 1 + 2, 288
	for key, want := range map[string]any{
		"general.architecture":         "llama",
		"general.name":                 "shape",
		"llama.embedding_length":       uint32(width),
		"llama.vocab_size":             uint32(tokens),
		"tokenizer.ggml.eos_token_id":  uint32(256),
		"tokenizer.ggml.add_bos_token": false,
	} {
		if f.meta[key] != want {
			t.Errorf("%s: %v, want %v", key, f.meta[key], want)
		}
	}
	for _, key := range []string{"tokenizer.ggml.tokens", "tokenizer.ggml.token_type"} {
		if n := len(f.meta[key].([]any)); n != tokens {
			t.Errorf("%s has %d entries", key, n)
		}
	}
	if dims := f.tensors["output.weight"].dims; !slices.Equal(dims, []int{width, tokens}) {
		t.Errorf("output.weight is %v", dims)
	}
	texts := f.meta["tokenizer.ggml.tokens"].([]any)
	if got := texts[256:]; !slices.Equal(got, []any{"<|endoftext|>", "<|a|>", "one", "Ġtwo"}) || texts['\n'] != "Ċ" {
		t.Errorf("tokens %q", got)
	}
}

// The layer adds nothing, and the norms have weight one.
func TestLayer(t *testing.T) {
	for name, tensor := range write(t, Script{}).tensors {
		want := float32(0)
		switch {
		case strings.HasSuffix(name, "norm.weight"):
			want = 1
		case !strings.HasPrefix(name, "blk."):
			continue
		}
		if i := slices.IndexFunc(tensor.data, func(x float32) bool { return x != want }); i >= 0 {
			t.Errorf("%s[%d] = %v", name, i, tensor.data[i])
		}
	}
}

func TestRepeated(t *testing.T) {
	for name, replies := range map[string][]Reply{
		"pieces":          {{Pieces: []string{"a ", "b", "a "}}},
		"bytes":           {{Pieces: []string{"a", "b", "a"}}},
		"across replies":  {{Pieces: []string{"one"}}, {Cue: "<|a|>", Pieces: []string{"one"}}},
		"cues":            {{Cue: "<|a|>"}, {Cue: "<|a|>"}},
		"empty cues":      {{}, {}},
		"a cue of a byte": {{Cue: "a"}},
		"a cue as piece":  {{Cue: "<|a|>", Pieces: []string{"<|a|>"}}},
		"the end":         {{Pieces: []string{endOfText}}},
	} {
		var b bytes.Buffer
		if err := Write(&b, Script{Replies: replies}); !errors.Is(err, ErrRepeated) || b.Len() > 0 {
			t.Errorf("%s: %v, and %d bytes", name, err, b.Len())
		}
	}
}

func TestRefused(t *testing.T) {
	for name, r := range map[string]Reply{
		"an empty piece":         {Pieces: []string{"a", ""}},
		"a cue that isn't UTF-8": {Cue: "<|\xff|>"},
	} {
		if err := Write(new(bytes.Buffer), Script{Replies: []Reply{r}}); err == nil || errors.Is(err, ErrRepeated) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A full writer accepts n bytes.
type full struct{ n int }

var errFull = errors.New("full")

func (f *full) Write(p []byte) (int, error) {
	if f.n -= len(p); f.n < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestWriteError(t *testing.T) {
	for _, n := range []int{0, 10_000, 500_000} {
		if err := Write(&full{n}, Script{}); !errors.Is(err, errFull) {
			t.Errorf("room for %d bytes: %v", n, err)
		}
	}
}

func TestCut(t *testing.T) {
	for text, want := range map[string][]string{
		"<think>\nOne two.\n</think>\n\nThree.": {"<think>", "\n", "One", " two.\n", "</think>", "\n\n", "Three."},
		"a < b":                                 {"a", " <", " b"},
		"the cat, the cat, the cat":             {"the", " cat,", " the", " cat", ",", " th", "e", " ca", "t"},
		"no no no":                              {"no", " no", " n", "o"},
		"<think><think>":                        {"<think>", "<think", ">"},
		"× \xff ":                               {"×", " \xff", " "},
		"":                                      nil,
	} {
		var c Cutter
		if got := c.Cut(text); !slices.Equal(got, want) {
			t.Errorf("%q is cut into %q, want %q", text, got, want)
		}
	}
}

// A text that cannot be cut gives a repeated piece, which Write refuses.
func TestCutImpossible(t *testing.T) {
	var c Cutter
	pieces := append(c.Use("a"), c.Cut("a")...)
	if err := Write(new(bytes.Buffer), Script{Replies: []Reply{{Pieces: pieces}}}); !errors.Is(err, ErrRepeated) {
		t.Errorf("%q: %v", pieces, err)
	}
}

// The pieces joined are the text, and only the last may be a repetition.
func FuzzCut(f *testing.F) {
	f.Add(sums, "<think>")
	f.Add("aaaaaaa", "a\xffaé")
	f.Fuzz(func(t *testing.T, one, two string) {
		var c Cutter
		used := map[string]bool{}
		for _, text := range []string{one, two} {
			pieces := c.Cut(text)
			if got := strings.Join(pieces, ""); got != text {
				t.Fatalf("%q is cut into %q", text, pieces)
			}
			for i, p := range pieces {
				if p == "" || used[p] && i < len(pieces)-1 {
					t.Fatalf("%q is cut into %q: piece %d", text, pieces, i)
				}
				used[p] = true
			}
		}
	})
}
