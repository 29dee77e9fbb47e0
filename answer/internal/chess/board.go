// Package chess plays games of chess that are written in algebraic notation, and decides
// whether a move mates.
package chess

// A piece is a letter as in FEN: upper case for White. 0 is an empty square.
type piece = byte

// A square is 16*rank + file. Of the 128 numbers, those with &0x88 != 0 are off the
// board.
type square int8

func (s square) off() bool { return s&^0x77 != 0 }

func (s square) file() int { return int(s & 7) }
func (s square) rank() int { return int(s >> 4) }

const none square = -1

// A Position is a board and what else the rules need. The zero Position is not one; see
// Start.
type Position struct {
	board [128]piece
	black bool // Black moves
	// castle says who may still castle: K, Q, k, q.
	castle [4]bool
	ep     square // behind a pawn that has just moved two squares, or none
	kings  [2]square
}

// A Move is a move of one side.
type Move struct {
	from, to square
	promote  piece // upper case, or 0
}

// Start returns the position before the first move.
func Start() *Position {
	p := &Position{castle: [4]bool{true, true, true, true}, ep: none, kings: [2]square{4, 0x74}}
	for f, c := range []byte("RNBQKBNR") {
		p.board[f], p.board[0x10+f], p.board[0x60+f], p.board[0x70+f] = c, 'P', 'p', c+32
	}
	return p
}

func upper(c piece) piece {
	if c >= 'a' {
		return c - 32
	}
	return c
}

func isBlack(c piece) bool { return c >= 'a' }

// mine reports whether a piece belongs to the side that moves.
func (p *Position) mine(c piece) bool { return c != 0 && isBlack(c) == p.black }

func side(black bool) int {
	if black {
		return 1
	}
	return 0
}

// own returns the piece of the side that moves.
func (p *Position) own(c piece) piece {
	if p.black {
		return c + 32
	}
	return c
}

var (
	knightSteps = []square{33, 31, 18, 14, -33, -31, -18, -14}
	kingSteps   = []square{1, -1, 16, -16, 17, 15, -17, -15}
	rookSteps   = kingSteps[:4]
	bishopSteps = kingSteps[4:]
)

// steps are the directions of a piece, and whether it slides.
func steps(c piece) (list []square, slides bool) {
	switch c {
	case 'N':
		return knightSteps, false
	case 'K':
		return kingSteps, false
	case 'R':
		return rookSteps, true
	case 'B':
		return bishopSteps, true
	}
	return kingSteps, true // Q
}

// attacked reports whether a side attacks a square.
func (p *Position) attacked(s square, black bool) bool {
	ahead := square(-16) // from the square to a white pawn that attacks it
	pawn := piece('P')
	if black {
		ahead, pawn = 16, 'p'
	}
	for _, d := range []square{ahead - 1, ahead + 1} {
		if t := s + d; !t.off() && p.board[t] == pawn {
			return true
		}
	}
	for _, c := range []piece("NKRBQ") {
		list, slides := steps(c)
		want := c
		if black {
			want += 32
		}
		for _, d := range list {
			for t := s + d; !t.off(); t += d {
				if p.board[t] == want {
					return true
				}
				if p.board[t] != 0 || !slides {
					break
				}
			}
		}
	}
	return false
}

// Check reports whether the side that moves is in check.
func (p *Position) Check() bool { return p.attacked(p.kings[side(p.black)], !p.black) }

// after returns the position after a move, which must be one of pseudo.
func (p *Position) after(m Move) *Position {
	q := *p
	c := q.board[m.from]
	q.board[m.from], q.ep = 0, none
	q.board[m.to] = c
	switch upper(c) {
	case 'K':
		q.kings[side(p.black)] = m.to
		if d := m.to - m.from; d == 2 || d == -2 {
			rook, over := m.to+1, m.to-1
			if d < 0 {
				rook, over = m.to-2, m.to+1
			}
			q.board[over], q.board[rook] = q.board[rook], 0
		}
	case 'P':
		switch d := m.to - m.from; {
		case d == 32 || d == -32:
			q.ep = m.from + d/2
		case m.to == p.ep:
			q.board[m.from&0x70|m.to&7] = 0
		}
		if m.promote != 0 {
			q.board[m.to] = p.own(m.promote)
		}
	}
	for i, corner := range []square{7, 0, 0x77, 0x70} {
		king := square(4 + 0x70*(i/2))
		if m.from == king || m.from == corner || m.to == corner {
			q.castle[i] = false
		}
	}
	q.black = !p.black
	return &q
}

// safe reports whether a move leaves the own king unattacked.
func (p *Position) safe(m Move) bool {
	q := p.after(m)
	return !q.attacked(q.kings[side(p.black)], q.black)
}

// Moves returns the legal moves.
func (p *Position) Moves() []Move {
	var list []Move
	for s := square(0); s < 127; s++ {
		if !s.off() && p.mine(p.board[s]) {
			list = p.pseudo(list, s)
		}
	}
	legal := list[:0]
	for _, m := range list {
		if p.safe(m) {
			legal = append(legal, m)
		}
	}
	return legal
}

// pseudo appends the moves of a piece, including those that leave the king attacked.
func (p *Position) pseudo(list []Move, s square) []Move {
	c := upper(p.board[s])
	if c == 'P' {
		return p.pawn(list, s)
	}
	directions, slides := steps(c)
	for _, d := range directions {
		for t := s + d; !t.off() && !p.mine(p.board[t]); t += d {
			list = append(list, Move{s, t, 0})
			if p.board[t] != 0 || !slides {
				break
			}
		}
	}
	if c == 'K' {
		list = p.castling(list, s)
	}
	return list
}

func (p *Position) pawn(list []Move, s square) []Move {
	ahead, first, last := square(16), 1, 7
	if p.black {
		ahead, first, last = -16, 6, 0
	}
	add := func(t square) {
		if t.rank() != last {
			list = append(list, Move{s, t, 0})
			return
		}
		for _, c := range []piece("QRBN") {
			list = append(list, Move{s, t, c})
		}
	}
	if t := s + ahead; !t.off() && p.board[t] == 0 {
		add(t)
		if t += ahead; s.rank() == first && p.board[t] == 0 {
			add(t)
		}
	}
	for _, d := range []square{ahead - 1, ahead + 1} {
		if t := s + d; !t.off() && (p.board[t] != 0 && !p.mine(p.board[t]) || t == p.ep) {
			add(t)
		}
	}
	return list
}

func (p *Position) castling(list []Move, s square) []Move {
	at := 2 * side(p.black)
	if !p.castle[at] && !p.castle[at+1] || p.attacked(s, !p.black) {
		return list
	}
	free := func(squares ...square) bool {
		for _, t := range squares {
			if p.board[t] != 0 {
				return false
			}
		}
		return true
	}
	if p.castle[at] && free(s+1, s+2) && !p.attacked(s+1, !p.black) {
		list = append(list, Move{s, s + 2, 0})
	}
	if p.castle[at+1] && free(s-1, s-2, s-3) && !p.attacked(s-1, !p.black) {
		list = append(list, Move{s, s - 2, 0})
	}
	return list
}

// Mate reports whether the side that moves is checkmated.
func (p *Position) Mate() bool { return p.Check() && len(p.Moves()) == 0 }
