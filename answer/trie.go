package answer

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A trie holds words in lower case by their letters. It finds those with which a text
// begins in one step a letter, however many words there are.
type trie struct {
	nodes []node               // the first is that of no letter
	uses  []use                // of words; the first belongs to no word
	ascii [utf8.RuneSelf]int32 // the children of the first node, for ASCII letters
	pairs []int32              // and their children, by both letters
}

// A node is what words have in common that begin with the same letters.
type node struct {
	letter     rune
	first, n   int32 // its children are nodes[first:first+n], in the order of their letters
	word, stem int32 // what ends at it: places in uses
}

// newTrie makes a trie of texts and their uses. A text that ends in * is a stem.
func newTrie(words map[string]use) *trie {
	type entry struct {
		letters []rune
		uses    use
		stem    bool
	}
	var list []entry
	for text, uses := range words {
		text, stem := strings.CutSuffix(text, "*")
		list = append(list, entry{[]rune(text), uses, stem})
	}
	slices.SortFunc(list, func(a, b entry) int { return slices.Compare(a.letters, b.letters) })
	t := &trie{nodes: make([]node, 1, 4*len(list)), uses: make([]use, 1, len(list)+1), pairs: make([]int32, utf8.RuneSelf*utf8.RuneSelf)}
	var grow func(at int32, list []entry, depth int)
	grow = func(at int32, list []entry, depth int) {
		for len(list) > 0 && len(list[0].letters) == depth {
			if list[0].stem {
				t.nodes[at].stem = int32(len(t.uses))
			} else {
				t.nodes[at].word = int32(len(t.uses))
			}
			t.uses = append(t.uses, list[0].uses)
			list = list[1:]
		}
		first := len(t.nodes)
		var parts []int // where the words of each child begin
		for i, e := range list {
			if i == 0 || e.letters[depth] != list[i-1].letters[depth] {
				t.nodes = append(t.nodes, node{letter: e.letters[depth]})
				parts = append(parts, i)
			}
		}
		t.nodes[at].first, t.nodes[at].n = int32(first), int32(len(parts))
		parts = append(parts, len(list))
		for k := range len(parts) - 1 {
			grow(int32(first+k), list[parts[k]:parts[k+1]], depth+1)
		}
	}
	grow(0, list, 0)
	for i, a := range t.children(0) {
		if a.letter < utf8.RuneSelf {
			t.ascii[a.letter] = t.nodes[0].first + int32(i)
		}
		for k, b := range t.nodes[a.first : a.first+a.n] {
			if a.letter < utf8.RuneSelf && b.letter < utf8.RuneSelf {
				t.pairs[a.letter*utf8.RuneSelf+b.letter] = a.first + int32(k)
			}
		}
	}
	return t
}

func (t *trie) children(at int32) []node {
	n := &t.nodes[at]
	return t.nodes[n.first : n.first+n.n]
}

// child returns the node after another one for a letter, or 0.
func (t *trie) child(at int32, letter rune) int32 {
	lo := t.nodes[at].first
	for hi := lo + t.nodes[at].n; lo < hi; {
		switch mid := (lo + hi) / 2; {
		case t.nodes[mid].letter == letter:
			return mid
		case t.nodes[mid].letter < letter:
			lo = mid + 1
		default:
			hi = mid
		}
	}
	return 0
}

// start returns the node of a first letter, or 0.
func (t *trie) start(letter rune) int32 {
	if letter < utf8.RuneSelf {
		return t.ascii[letter]
	}
	return t.child(0, letter)
}

// after returns the node of the first two letters, or 0. The first leads to the node start.
func (t *trie) after(start int32, first, second rune) int32 {
	if first < utf8.RuneSelf && second < utf8.RuneSelf {
		return t.pairs[first*utf8.RuneSelf+second]
	}
	return t.child(start, second)
}

// letterOf returns the letter at a place in lower case, and how many bytes it takes. All
// the space between two words is one letter. Emphasis may stand in it.
func letterOf(text string, i int) (letter rune, n int) {
	switch c := text[i]; {
	case 'a' <= c && c <= 'z':
		return rune(c), 1
	case c == ' ' || c == '*' || c == '_':
		for n = 1; n < 8 && i+n < len(text) && (text[i+n] == ' ' || text[i+n] == '*' || text[i+n] == '_'); n++ {
		}
		return ' ', n
	case c < utf8.RuneSelf:
		return rune(lower(c)), 1
	}
	r, n := utf8.DecodeRuneInString(text[i:])
	if letter = unicode.ToLower(r); letter < utf8.RuneSelf {
		letter = r // the sign of Kelvin is not a k
	}
	return letter, n
}
