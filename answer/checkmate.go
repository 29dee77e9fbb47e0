package answer

import (
	"errors"
	"strings"

	"github.com/sotto-llm/sotto/answer/internal/chess"
	"github.com/sotto-llm/sotto/internal/base/lazyregexp"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
)

// Checkmate is the task of mates in one: "checkmate". The problem's Input is a game of
// chess, as a list of moves ("1. e4 e5 2. Qh5 Ke7 3."), with or without a question
// around it. An answer is right if it is a legal move that mates, whether or not the
// gold is another one. No gold is needed.
var Checkmate Task = checkmate{}

type checkmate struct{}

func (checkmate) Name() string { return "checkmate" }

func (checkmate) Form() Form {
	return Form{
		Rules: "checkmate/2", Extent: FirstLine, Boxed: true, Sayings: true, Bare: bareMove,
		Markers: moveMarkers().list,
		markers: moveMarkers(),
	}
}

// bareMove accepts a reply that is nothing but a move.
func bareMove(text string, p Problem) Span {
	at := bareLine(text, p)
	if !chess.IsMove(checkmate{}.Normalise(text[at.Start:at.End])) {
		return Span{}
	}
	return at
}

var (
	moveNumber = lazyregexp.New(`^\d+\s*(\.+|…)\s*`)
	firstMove  = lazyregexp.New(`(^|[\s:])1\s*\.`)
)

// moveSpelling maps what people write in a move to the characters of the notation.
var moveSpelling = strings.NewReplacer(
	`\#`, "#", "×", "x", ":", "x", "‡", "#", "++", "#", "≠", "#", "–", "-", "‑", "-",
	"♔", "K", "♕", "Q", "♖", "R", "♗", "B", "♘", "N", "♙", "", "♚", "K", "♛", "Q", "♜", "R", "♝", "B", "♞", "N", "♟", "",
)

// Normalise returns the move without its number, emphasis and words such as "mate".
func (checkmate) Normalise(candidate string) string {
	s := withoutMarks(candidate)
	s = withoutMarks(strings.Trim(s, `"'$“”`))
	if at := moveNumber.FindStringIndex(s); at != nil {
		s = s[at[1]:]
	}
	s = strings.TrimSuffix(strings.TrimSpace(s), ".")
	for _, word := range []string{"checkmate", "mate"} {
		if rest, ok := strings.CutSuffix(strings.ToLower(s), " "+word); ok {
			s = strings.TrimRight(s[:len(rest)], " ,(")
		}
	}
	return withoutMarks(moveSpelling.Replace(s))
}

func (checkmate) Precheck(string, Problem) bool { return false }

// maxGame bounds a problem, in bytes.
const maxGame = 16 << 10

// moves returns the list of moves in a problem, on one line.
func (checkmate) moves(p Problem) string {
	if at := firstMove.FindStringIndex(p.Input); at != nil {
		return shorttext.OneLine(p.Input[at[0]:])
	}
	return ""
}

// Validate plays the game and the move. It returns format_error for what is not a move
// in algebraic notation, and different for a move that is not legal or does not mate.
func (t checkmate) Validate(candidate string, p Problem) Verdict {
	switch {
	case candidate == "":
		return Verdict{Reason: Empty}
	case len(p.Input) > maxGame:
		return Verdict{Reason: BadGold, Detail: "the game is too long"}
	}
	position, err := chess.Game(strings.TrimLeft(t.moves(p), ":"))
	if err == nil && t.moves(p) == "" {
		err = errors.New("the problem has no list of moves: it begins with 1. and a move")
	}
	if err != nil {
		return Verdict{Reason: BadGold, Detail: err.Error()}
	}
	mates, err := position.Mates(candidate)
	switch {
	case errors.Is(err, chess.ErrNotation):
		return Verdict{Reason: FormatError, Detail: err.Error()}
	case err != nil:
		return Verdict{Reason: Different, Detail: err.Error(), By: byNone}
	case !mates:
		return Verdict{Reason: Different, Detail: "the move does not mate", By: byNone}
	case candidate == t.Normalise(p.Gold):
		return Verdict{OK: true, Reason: ReasonOK, By: byString}
	}
	return Verdict{OK: true, Reason: ReasonOK, By: "rules"}
}

// Distil returns the query "Mate after 1. e4 e5 2. Qh5 Ke7", and the trace of a move.
func (t checkmate) Distil(p Problem, solution string) (query, trace string) {
	moves := t.moves(p)
	if moves == "" {
		return "", ""
	}
	return "Mate after " + moves, traceOf("Checkmate", moves, t.Normalise(solution))
}

var moveMarkers = said("Move", "Best move", "Mate", "Checkmate", "Winning move", "Output", "A", "#### ")
