package bytescan

// MaxGroups is how many groups of forms a search can tell apart.
const MaxGroups = 8

// Groups finds forms of three bytes that are in groups: a form is a first byte, a second and a
// third of the same group.
type Groups struct {
	forms Forms         // its nibbles
	in    [3][256]uint8 // by the place of a byte: the groups that it is in
}

// Add adds forms to a group, of at most MaxGroups: each that has one of the first bytes, one
// of the second, and one of the third.
func (g *Groups) Add(group int, first, second, third []byte) {
	bit := uint8(1) << group
	for place, set := range [][]byte{first, second, third} {
		for _, c := range set {
			g.in[place][c] |= bit
			g.forms.add(place, c, bit)
		}
	}
}

// Next returns the offset in b of the first form, or len(b). A form may be cut off by the end
// of b.
func (g *Groups) Next(b []byte) int {
	i := 0
	for len(b)-i >= fewest {
		at, ok := g.forms.block(b[i:])
		if !ok {
			break
		}
		if i += at; i >= len(b)-2 {
			break
		}
		if g.in[0][b[i]]&g.in[1][b[i+1]]&g.in[2][b[i+2]] != 0 {
			return i
		}
		i++
	}
	return g.nextOf(b, i)
}

// nextOf is Next from byte i on, without blocks.
func (g *Groups) nextOf(b []byte, i int) int {
	for ; i < len(b); i++ {
		in := g.in[0][b[i]]
		if in != 0 && i+1 < len(b) {
			in &= g.in[1][b[i+1]]
		}
		if in != 0 && i+2 < len(b) {
			in &= g.in[2][b[i+2]]
		}
		if in != 0 {
			return i
		}
	}
	return len(b)
}
