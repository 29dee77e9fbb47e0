package chess

import (
	"errors"
	"strings"
	"testing"
)

// fen reads a position in Forsyth–Edwards notation.
func fen(t testing.TB, text string) *Position {
	t.Helper()
	fields := strings.Fields(text)
	p := &Position{ep: none, black: fields[1] == "b"}
	rank, file := 7, 0
	for _, c := range []byte(fields[0]) {
		switch {
		case c == '/':
			rank, file = rank-1, 0
		case c >= '1' && c <= '8':
			file += int(c - '0')
		default:
			s := square(rank<<4 | file)
			if p.board[s] = c; c == 'K' || c == 'k' {
				p.kings[side(c == 'k')] = s
			}
			file++
		}
	}
	for i, c := range []byte("KQkq") {
		p.castle[i] = strings.IndexByte(fields[2], c) >= 0
	}
	if fields[3] != "-" {
		p.ep = square(fields[3][1]-'1')<<4 | square(fields[3][0]-'a')
	}
	return p
}

func perft(p *Position, depth int) int {
	moves := p.Moves()
	if depth == 1 {
		return len(moves)
	}
	n := 0
	for _, m := range moves {
		n += perft(p.after(m), depth-1)
	}
	return n
}

// The numbers of positions are those that the Chess Programming Wiki publishes.
func TestPerft(t *testing.T) {
	for _, test := range []struct {
		fen   string
		depth int
		want  int
	}{
		{"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -", 3, 8902},
		{"r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq -", 3, 97862},
		{"8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - -", 4, 43238},
		{"r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq -", 3, 9467},
		{"rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ -", 3, 62379},
		{"r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - -", 3, 89890},
	} {
		if got := perft(fen(t, test.fen), test.depth); got != test.want {
			t.Errorf("%s: %d positions after %d moves, want %d", test.fen, got, test.depth, test.want)
		}
	}
	if got := perft(Start(), 3); got != 8902 {
		t.Errorf("from the start %d", got)
	}
}

// A mate is any legal move that mates, however it is written.
func TestMates(t *testing.T) {
	for _, test := range []struct {
		game, move string
		mates      bool
		err        error
	}{
		{"1. f3 e5 2. g4", "Qh4#", true, nil},
		{"1. f3 e5 2. g4 2...", "Qh4", true, nil}, {"1.f3 e5 2.g4 Which move mates now?", "Qh4", true, nil}, {"1 f3 e5 2 g4", "Qh4", true, nil},
		{"1. e4 e5 2. Bc4 Nc6 3. Qh5 Nf6", "Qxf7#", true, nil},
		{"1. e4 e5 2. Bc4 Nc6 3. Qh5 Nf6", "Qf7", true, nil},
		{"1. e4 e5 2. Bc4 Nc6 3. Qh5 Nf6", "Qh5xf7", true, nil},
		{"1. e4 e5 2. Bc4 Nc6 3. Qh5 Nf6", "Bxf7+", false, nil},
		{"1. e4 e5 2. Bc4 Nc6 3. Qh5 Nf6", "Qxf8#", false, ErrIllegal},
		{"1. e4 e5 2. Bc4 Nc6 3. Qh5 Nf6", "mate", false, ErrNotation},
		{"1.e4 e5 2.Nf3 d6 3.Bc4 Bg4 4.Nc3 g6 5.Nxe5 Bxd1 6.Bxf7+ Ke7", "Nd5#", true, nil},
		{"1. e4 e5 2. Nc3 Nf6 3. Nd5 Nc6", "N1e2", false, nil},
		{"1. Nf3 d5 2. Nc3 d4 3. Nb5 a6", "Nd4", false, ErrAmbiguous},
		{"1. Nf3 d5 2. Nc3 d4 3. Nb5 a6", "Nfxd4", false, nil},
	} {
		p, err := Game(test.game)
		if err != nil {
			t.Errorf("%s: %v", test.game, err)
			continue
		}
		if ok, err := p.Mates(test.move); ok != test.mates || !errors.Is(err, test.err) {
			t.Errorf("%s %s: %v, %v; want %v, %v", test.game, test.move, ok, err, test.mates, test.err)
		}
	}
	for _, test := range []struct {
		fen, move string
		mates     bool
	}{
		{"5k2/7R/5K2/8/8/8/8/8 w - -", "Rh8#", true}, {"7k/5P2/6K1/8/8/8/8/8 w - -", "f8=Q", true}, {"7k/5P2/6K1/8/8/8/8/8 w - -", "f8R#", true},
		{"7k/5P2/6K1/8/8/8/8/8 w - -", "f8=B", false}, {"3rkr2/3ppp2/8/8/8/8/8/R3K2R w KQ -", "O-O", false},
		{"8/8/8/8/8/7p/6kP/4K2R w K -", "O-O", false},
		{"2rkr3/2p1p3/8/8/8/8/8/R3K3 w Q -", "O-O-O#", true}, {"2rkr3/2p1p3/8/8/8/8/8/R3K3 w Q -", "0-0-0", true}, {"2rkr3/2p1p3/8/8/8/8/8/R3K3 w - -", "O-O-O", false},
		{"3nbb2/4kp2/4pp2/1B1pP3/8/B7/8/6K1 w - d6", "exd6#", true}, {"3nbb2/4kp2/4pp2/1B1pP3/8/B7/8/6K1 w - -", "exd6#", false}, // in passing
		{"6rk/6pp/8/4N3/8/8/8/6K1 w - -", "Nf7", true}, // smothered
	} {
		if ok, _ := fen(t, test.fen).Mates(test.move); ok != test.mates {
			t.Errorf("%s %s: %v", test.fen, test.move, ok)
		}
	}
}

// A game that cannot be played says at which move.
func TestBadGames(t *testing.T) {
	var e *MoveError
	if _, err := Game("1. e4 e5 2. Nf6"); !errors.As(err, &e) || e.Ply != 3 || err.Error() != "move 2. Nf6: no legal move" {
		t.Errorf("%v", err)
	}
	for _, game := range []string{"1. e4 " + strings.Repeat("Q", 1000) + " 2. d4", strings.Repeat("Q", 1000)} {
		if _, err := Game(game); !errors.As(err, &e) || len(err.Error()) > 100 {
			t.Errorf("%v", err)
		}
	}
	if _, err := Game(strings.Repeat("Nf3 Nf6 Ng1 Ng8 ", 1000)); err == nil {
		t.Error("a game without end")
	}
	for _, text := range []string{"", "x", "xx", "e", "e9", "i4", "Nxxe5", "e4e", "=Q", "e8=K", "O-O-O-O", "\xff\xfe", "P", "K", "+#", "NNe5"} {
		if _, err := Start().Move(text); !errors.Is(err, ErrNotation) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
