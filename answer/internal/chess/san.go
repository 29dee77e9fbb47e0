package chess

import (
	"errors"
	"fmt"
	"strings"
)

var (
	// ErrNotation is the error of a text that is not a move.
	ErrNotation = errors.New("not a move in algebraic notation")
	// ErrIllegal is the error of a move that the rules do not allow here.
	ErrIllegal = errors.New("no legal move")
	// ErrAmbiguous is the error of a move that two pieces could make.
	ErrAmbiguous = errors.New("two pieces can make this move")
)

// maxSAN is more than any move has, with its marks.
const maxSAN = 12

// written is a move as it is written.
type written struct {
	castle  int // 0, 1 (short) or 2 (long)
	piece   piece
	file    int // of the start, or -1
	rank    int
	to      square
	promote piece
}

// parse reads a move such as Nbxd7+, exd8=Q#, O-O. Marks after the move are not looked
// at.
func parse(text string) (w written, err error) {
	w = written{piece: 'P', file: -1, rank: -1}
	s := strings.TrimRight(text, "+#!?")
	if len(text) > maxSAN {
		return w, ErrNotation
	}
	switch strings.ReplaceAll(s, "0", "O") {
	case "O-O":
		w.castle = 1
		return w, nil
	case "O-O-O":
		w.castle = 2
		return w, nil
	}
	if s != "" && strings.IndexByte("NBRQK", s[0]) >= 0 {
		w.piece, s = s[0], s[1:]
	}
	if n := len(s); n > 2 && strings.IndexByte("QRBN", s[n-1]) >= 0 && w.piece == 'P' {
		w.promote = s[n-1]
		s = strings.TrimSuffix(s[:n-1], "=")
	}
	n := len(s)
	if n < 2 || !isFile(s[n-2]) || !isRank(s[n-1]) {
		return w, ErrNotation
	}
	w.to = square(s[n-1]-'1')<<4 | square(s[n-2]-'a')
	from := s[:n-2]
	from = strings.TrimRight(from, "x-")
	if len(s)-2-len(from) > 1 {
		return w, ErrNotation
	}
	if from != "" && isFile(from[0]) {
		w.file, from = int(from[0]-'a'), from[1:]
	}
	if from != "" && isRank(from[0]) {
		w.rank, from = int(from[0]-'1'), from[1:]
	}
	if from != "" {
		return w, ErrNotation
	}
	return w, nil
}

// IsMove reports whether a text has the form of a move.
func IsMove(text string) bool {
	_, err := parse(text)
	return err == nil
}

func isFile(c byte) bool { return c >= 'a' && c <= 'h' }
func isRank(c byte) bool { return c >= '1' && c <= '8' }

// fits reports whether a legal move is the one that is written.
func (w *written) fits(p *Position, m Move) bool {
	c := upper(p.board[m.from])
	if w.castle > 0 {
		return c == 'K' && int(m.to-m.from) == map[int]int{1: 2, 2: -2}[w.castle]
	}
	if c == 'K' && (m.to-m.from == 2 || m.from-m.to == 2) {
		return false
	}
	return c == w.piece && m.to == w.to && m.promote == w.promote &&
		(w.file < 0 || w.file == m.from.file()) && (w.rank < 0 || w.rank == m.from.rank())
}

// Move returns the legal move that a text says.
func (p *Position) Move(text string) (m Move, err error) {
	w, err := parse(text)
	if err != nil {
		return m, err
	}
	found := 0
	for _, legal := range p.Moves() {
		if w.fits(p, legal) {
			m, found = legal, found+1
		}
	}
	switch found {
	case 0:
		return m, ErrIllegal
	case 1:
		return m, nil
	}
	return m, ErrAmbiguous
}

// Mates reports whether a move, as a text, mates. An error says that it is not a legal
// move.
func (p *Position) Mates(text string) (bool, error) {
	m, err := p.Move(text)
	if err != nil {
		return false, err
	}
	return p.after(m).Mate(), nil
}

// MaxPlies bounds the moves of a game.
const MaxPlies = 600

// A MoveError says which move of a game cannot be read.
type MoveError struct {
	Ply  int // from 1
	Text string
	Err  error
}

func (e *MoveError) Error() string {
	dots := "."
	if e.Ply%2 == 0 {
		dots = "..."
	}
	return fmt.Sprintf("move %d%s %s: %v", (e.Ply+1)/2, dots, e.Text, e.Err)
}

// Unwrap returns the reason.
func (e *MoveError) Unwrap() error { return e.Err }

// Game returns the position after a list of moves: "1. e4 e5 2. Nf3 …". Numbers of
// moves, and a number at the end without a move, are not looked at. Words after the list
// that are not moves, such as a question, end it.
func Game(moves string) (*Position, error) {
	p, ply := Start(), 0
	var stopped *MoveError // the first word that is not a move
	for text := range strings.FieldsSeq(moves) {
		move, numbered := withoutNumber(text)
		if numbered && stopped != nil {
			return nil, stopped
		}
		if move == "" || stopped != nil {
			continue
		}
		if ply++; ply > MaxPlies {
			return nil, fmt.Errorf("a game of more than %d moves", MaxPlies/2)
		}
		m, err := p.Move(move)
		if err != nil {
			stopped = &MoveError{ply, strings.ToValidUTF8(move[:min(len(move), 2*maxSAN)], "\ufffd"), err}
			if ply == 1 || !errors.Is(err, ErrNotation) {
				return nil, stopped
			}
			continue
		}
		p = p.after(m)
	}
	return p, nil
}

// withoutNumber removes the number of a move, such as 12. or 12... before it.
func withoutNumber(text string) (move string, numbered bool) {
	rest := strings.TrimLeft(text, "0123456789")
	dots := strings.TrimLeft(rest, ".…")
	if rest != text && (dots != rest || rest == "") {
		return dots, dots != rest
	}
	if dots != rest && dots == "" {
		return "", false
	}
	return text, false
}
