package main

import (
	"fmt"
	"math"
	"strings"
)

// draw draws how many streams each resource of a gateway suffices for, on a logarithmic
// scale. It is readable on light and on dark pages.
func draw(in *Inputs) string {
	needs := Plan(in, scenarios[0]).Needs
	const (
		left, width, row, top = 190, 520, 30, 40
		from, to              = 3, 6 // powers of ten
	)
	height := top + row*len(needs) + 20
	x := func(v float64) float64 { return left + width*(math.Log10(v)-from)/(to-from) }
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%[1]d" height="%[2]d" font-family="system-ui, sans-serif" font-size="14">`+"\n", left+width+90, height)
	b.WriteString(`<style>text{fill:#24292f}.grid{stroke:#8c959f;stroke-opacity:.4}.bar{fill:#0969da}.first{fill:#cf222e}@media(prefers-color-scheme:dark){text{fill:#e6edf3}.bar{fill:#4493f8}.first{fill:#f85149}}</style>` + "\n")
	b.WriteString(`<title>How many streams each resource of a gateway suffices for</title>` + "\n")
	for p := from; p <= to; p++ {
		at := x(math.Pow10(p))
		fmt.Fprintf(&b, `<line class="grid" x1="%[1]g" y1="%[2]d" x2="%[1]g" y2="%[3]d"/><text x="%[1]g" y="%[4]d" text-anchor="middle">%[5]s</text>`+"\n",
			math.Round(at), top-10, height-20, top-18, thousands(math.Pow10(p)))
	}
	for i, n := range needs {
		class, y := "bar", top+row*i
		if i == 0 {
			class = "first"
		}
		end := x(min(n.Streams(), math.Pow10(to)))
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end">%s</text><rect class="%s" x="%d" y="%d" width="%.1f" height="16" rx="2"/><text x="%.1f" y="%d">%s</text>`+"\n",
			left-10, y+13, strings.Trim(n.Resource, "`"), class, left, y, end-left, end+6, y+13, thousands(math.Round(n.Streams()/100)*100))
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func thousands(v float64) string { return strings.TrimPrefix(usd(v), "$") }
