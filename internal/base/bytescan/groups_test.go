package bytescan

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// someGroups are forms of each kind that a caller has: any third byte, sets, single forms, and
// bytes whose nibbles those of others have.
func someGroups() (*Groups, []string) {
	all := make([]byte, 256)
	for c := range all {
		all[c] = byte(c)
	}
	sets := [][3]string{
		{"\\", "\\", string(all)}, {"\\", "u", "02"}, {"<", "/t", "htHT"}, {"[", "T", "H"}, {"t", "a", ":"}, {"s", "e", ":"},
		{"\xe2", "\x97", "\xb7"}, {"\"", "rt", "eh"},
	}
	g := new(Groups)
	var forms []string
	for i, s := range sets {
		g.Add(i, []byte(s[0]), []byte(s[1]), []byte(s[2]))
		for n := range 4 {
			forms = append(forms, string([]byte{s[0][n%len(s[0])], s[1][n%len(s[1])], s[2][n%len(s[2])]}))
		}
	}
	return g, forms
}

func checkGroups(t *testing.T, g *Groups, b []byte) {
	t.Helper()
	want := len(b)
	for i := range b {
		in := g.in[0][b[i]]
		for place, c := range b[i:min(i+3, len(b))] {
			in &= g.in[place][c]
		}
		if in != 0 {
			want = i
			break
		}
	}
	if got := g.Next(b); got != want {
		t.Fatalf("Next(%q) = %d, want %d", b, got, want)
	}
	if got := g.nextOf(b, 0); got != want {
		t.Fatalf("without blocks, Next(%q) = %d, want %d", b, got, want)
	}
}

// TestGroupsAtEveryPlace puts forms at every place of texts of every length up to four blocks,
// at every alignment, with bytes around them that are in some group, and with none.
func TestGroupsAtEveryPlace(t *testing.T) {
	g, forms := someGroups()
	memory := make([]byte, 512)
	for n := range 160 {
		for align := range 3 {
			b := memory[align : align+n]
			for at := range n + 1 {
				for i := range b {
					b[i] = []string{"axyz .,?", "\\n<T[:e\""}[align&1][(i*i+n)%8]
				}
				copy(b[at:], forms[(at+n+align)%len(forms)])
				checkGroups(t, g, b)
			}
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		b := make([]byte, r.IntN(300))
		for i := range b {
			if b[i] = byte(r.Uint32()); r.IntN(3) == 0 {
				b[i] = forms[r.IntN(len(forms))][r.IntN(3)]
			}
		}
		checkGroups(t, g, b)
	}
}

func FuzzGroups(f *testing.F) {
	f.Add([]byte(`{"a":"\u003cthink> data:"}`), uint8(40))
	g, _ := someGroups()
	f.Fuzz(func(t *testing.T, b []byte, pad uint8) {
		checkGroups(t, g, append(bytes.Repeat([]byte{'.'}, int(pad)), b...))
		checkGroups(t, g, b)
	})
}
