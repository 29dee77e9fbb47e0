package gguf

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// ErrRepeated says that a cue or a piece has the same text as an earlier one. A
// token has one successor, so the reply would continue like the earlier one.
var ErrRepeated = errors.New("text occurs twice")

// A Script is everything that a model can say.
type Script struct {
	// Name is the model's name in the file's metadata.
	Name    string
	Replies []Reply
}

// A Reply is the model's reply to a prompt that ends in Cue.
type Reply struct {
	// Cue is the exact text that ends the prompt, including white space: such as
	// "<|assistant|>\n", or "<think>\n" if the template opens the block. If one cue
	// is the end of another, the longer one decides. If empty, it matches any
	// prompt that ends otherwise, except in a single byte that is a piece.
	Cue string
	// Pieces are the tokens of the reply, in order. Each is the bytes of one stream
	// event, and may end within a UTF-8 sequence. Joined, they are the reply. After
	// the last one the model ends its turn.
	Pieces []string
}

// Text returns the whole reply.
func (r Reply) Text() string { return strings.Join(r.Pieces, "") }

// After returns the pieces of the reply to a prompt: that with the longest cue at its
// end.
func (s Script) After(prompt string) (pieces []string) {
	longest := -1
	for _, r := range s.Replies {
		if strings.HasSuffix(prompt, r.Cue) && len(r.Cue) > longest {
			longest, pieces = len(r.Cue), r.Pieces
		}
	}
	return pieces
}

// The kinds of tokens, as tokenizer.ggml.token_type numbers them.
const (
	normal      int32 = 1
	control     int32 = 3
	userDefined int32 = 4
)

const endOfText = "<|endoftext|>"

// A vocabulary holds the tokens of a script and the successor of each.
//
//	len(texts) == len(kinds) == len(next)
//	every next is an index of the three
type vocabulary struct {
	texts []string // in the form of the file: bytes as code points, cues raw
	kinds []int32
	next  []int
	end   int // the token that ends a reply

	ids  map[string]int
	said map[int]bool // the tokens that are a piece or a cue
}

// compile gives each byte, cue and piece its token.
func (s Script) compile() (*vocabulary, error) {
	v := &vocabulary{ids: map[string]int{}, said: map[int]bool{}}
	for b := range 256 {
		v.add(encodeBytes(string([]byte{byte(b)})), normal)
	}
	v.end = v.add(endOfText, control)
	v.said[v.end] = true
	cues := make([]int, len(s.Replies))
	for i, r := range s.Replies {
		id, err := v.cue(r.Cue)
		if err != nil {
			return nil, fmt.Errorf("reply %d: %w", i, err)
		}
		cues[i] = id
	}
	other := v.end
	for i, r := range s.Replies {
		first, err := v.reply(cues[i], r.Pieces)
		if err != nil {
			return nil, fmt.Errorf("reply %d: %w", i, err)
		}
		if r.Cue == "" {
			other = first
		}
	}
	v.close(other)
	return v, nil
}

// nowhere is the successor of a token that no reply has set.
const nowhere = -1

func (v *vocabulary) add(text string, kind int32) int {
	id := len(v.texts)
	v.texts = append(v.texts, text)
	v.kinds = append(v.kinds, kind)
	v.next = append(v.next, nowhere)
	v.ids[text] = id
	return id
}

// cue returns the token of a cue, or nowhere for an empty cue.
func (v *vocabulary) cue(text string) (int, error) {
	if !utf8.ValidString(text) {
		return 0, fmt.Errorf("cue %q: not UTF-8", text)
	}
	if v.said[nowhere] && text == "" {
		return 0, fmt.Errorf("cue %q: %w", text, ErrRepeated)
	}
	if text == "" {
		v.said[nowhere] = true
		return nowhere, nil
	}
	if _, taken := v.ids[text]; taken {
		return 0, fmt.Errorf("cue %q: %w", text, ErrRepeated)
	}
	id := v.add(text, userDefined)
	v.said[id] = true
	return id, nil
}

// reply chains the pieces after from and returns the first token of the chain.
func (v *vocabulary) reply(from int, pieces []string) (first int, err error) {
	first, last := v.end, from
	for i, p := range pieces {
		id, err := v.piece(p)
		if err != nil {
			return 0, fmt.Errorf("piece %d, %q: %w", i, p, err)
		}
		if i == 0 {
			first = id
		}
		v.follow(last, id)
		last = id
	}
	v.follow(last, v.end)
	return first, nil
}

func (v *vocabulary) follow(from, to int) {
	if from != nowhere {
		v.next[from] = to
	}
}

// piece returns a token that no reply has used yet. A piece of one byte uses that
// byte's token, because the text of a token is unique.
func (v *vocabulary) piece(text string) (int, error) {
	if text == "" {
		return 0, errors.New("no text")
	}
	id, ok := v.ids[encodeBytes(text)]
	if !ok {
		id = v.add(encodeBytes(text), normal)
	}
	if v.said[id] {
		return 0, ErrRepeated
	}
	v.said[id] = true
	return id, nil
}

// close sends every token without a successor to other.
func (v *vocabulary) close(other int) {
	v.next[v.end] = v.end
	for id, to := range v.next {
		if to == nowhere {
			v.next[id] = other
		}
	}
}

// encodeBytes returns the text of a byte-level BPE token, with each byte as one
// code point. Printable Latin-1 stands for itself. Other bytes become U+0100 and
// on.
func encodeBytes(s string) string {
	var b strings.Builder
	for i := range len(s) {
		b.WriteRune(byteRunes[s[i]])
	}
	return b.String()
}

var byteRunes = func() (runes [256]rune) {
	more := rune(256)
	for b := range runes {
		r := rune(b)
		if !('!' <= r && r <= '~' || '¡' <= r && r <= '¬' || '®' <= r && r <= 'ÿ') {
			r, more = more, more+1
		}
		runes[b] = r
	}
	return runes
}()
