package answer

import (
	"fmt"
	"strings"
)

// Crossword is the 5×5 crossword: "crossword5x5". An answer is a block of rows,
// with or without spaces between the letters ("P I P I T", "PIPIT"). Its first five
// rows count. Gold is the 25 letters, row by row. The Detail of a verdict says how
// much is right: "letters 18/25, words 3/10".
var Crossword Task = crosswordTask{}

type crosswordTask struct{}

const side = 5

func (crosswordTask) Name() string { return "crossword5x5" }

func (crosswordTask) Form() Form {
	return Form{Rules: "crossword5x5/2", Markers: []string{"Output", "Answer", "Final answer", "Solution"}, Extent: Block, Scan: true}
}

// Normalise returns the first five rows in capitals, one per line, without
// separators between letters. A row may have the wrong length.
func (crosswordTask) Normalise(candidate string) string {
	var b strings.Builder
	rows := 0
	for line := range strings.Lines(candidate) {
		row := rowOf(line)
		if row == "" {
			continue
		}
		if rows > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(row)
		if rows++; rows == side {
			break
		}
	}
	return b.String()
}

// rowOf returns the letters of a row, in capitals. A row is single letters
// separated by spaces, commas or bars, or one word. A cell that was left open is _.
// For any other line it returns "".
func rowOf(line string) string {
	line = strings.Trim(line, white+"`*|>")
	if len(line) > 256 {
		return ""
	}
	if strings.IndexByte(line, ' ') >= 0 {
		line = strings.ReplaceAll(line, "_", " _ ")
	}
	cells := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' || r == '|' || r == ',' })
	if len(cells) != 1 {
		for _, c := range cells {
			if len(c) != 1 {
				return ""
			}
		}
	}
	row := []byte(strings.ToUpper(strings.Join(cells, "")))
	letters := 0
	for i, c := range row {
		switch {
		case c-'A' < 26:
			letters++
		case strings.IndexByte(openCells, c) >= 0:
			row[i] = '_'
		default:
			return ""
		}
	}
	if letters == 0 {
		return ""
	}
	return string(row)
}

// openCells are the ways to mark a cell that was left open.
const openCells = "_?.#-"

// Precheck reports whether a block of lines has five rows or more.
func (t crosswordTask) Precheck(block string, _ Problem) bool {
	return strings.Count(t.Normalise(block), "\n") == side-1
}

func (t crosswordTask) Validate(candidate string, p Problem) Verdict {
	if candidate == "" {
		return Verdict{Reason: Empty}
	}
	gold := goldGrid(p.Gold)
	if len(gold) != side*side {
		return Verdict{Reason: BadGold, Detail: "want 25 letters"}
	}
	rows := strings.Split(candidate, "\n")
	grid := ""
	whole := len(rows) == side
	for i := range side {
		row := ""
		if i < len(rows) {
			row = rows[i]
		}
		whole = whole && len(row) == side
		grid += (row + "     ")[:side]
	}
	letters, words := compareGrids(grid, gold)
	v := Verdict{OK: grid == gold && whole, Reason: Different, By: "none", Detail: fmt.Sprintf("letters %d/25, words %d/10", letters, words)}
	switch {
	case v.OK:
		v.Reason, v.By = ReasonOK, "string"
	case !whole:
		v.Reason = FormatError
	}
	return v
}

func goldGrid(gold string) string {
	return strings.Map(func(r rune) rune {
		if r-'A' < 26 && r >= 'A' {
			return r
		}
		return -1
	}, strings.ToUpper(gold))
}

// compareGrids counts the matching letters, and the matching words across and down.
func compareGrids(a, b string) (letters, words int) {
	for i := range side {
		across, down := true, true
		for j := range side {
			if a[side*i+j] == b[side*i+j] {
				letters++
			} else {
				across = false
			}
			down = down && a[side*j+i] == b[side*j+i]
		}
		if across {
			words++
		}
		if down {
			words++
		}
	}
	return letters, words
}

func (crosswordTask) Distil(Problem, string) (query, trace string) { return "", "" }
