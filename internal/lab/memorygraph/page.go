package memorygraph

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/visible"
	"github.com/sotto-llm/sotto/internal/lab/report"
)

//go:embed page.html.tmpl
var pageText string

//go:embed fragment.html.tmpl
var fragmentText string

// The bounds of the table of templates.
const (
	maxRows   = 200
	maxSolved = 12 // problems named in a row
)

// An earned is a row of the table: a template and what it solved.
type earned struct {
	Template, Model, From string
	Solved, Seen, Failed  int
	Problems              string
}

type fragment struct {
	Caption         string
	Drawing, Growth template.HTML
	Templates       []earned
	MoreTemplates   int
}

type page struct {
	Title, Policy string
	Style         template.CSS
	Fragment      template.HTML
}

// Fragment returns the drawing, the growth of the memory and the table of templates, for
// a page that has the style of package report.
func (g *Graph) Fragment() (template.HTML, error) {
	html, err := report.Render(fragmentText, nil, g.fragment())
	return template.HTML(html), err
}

// Page returns a page that stands alone.
func (g *Graph) Page(title string) ([]byte, error) {
	fragment, err := g.Fragment()
	if err != nil {
		return nil, err
	}
	return report.Render(pageText, nil, page{visible.Text(title), report.Policy(), report.Style(), fragment})
}

func (g *Graph) fragment() *fragment {
	f := &fragment{Caption: g.caption(), Drawing: g.Drawing()}
	if len(g.Growth[0]) > 1 {
		f.Growth = report.Series([]report.Line{{Name: "solutions", Points: g.Growth[0]}, {Name: "templates", Colour: 1, Points: g.Growth[1]}}, 0, "", 1)
	}
	f.Templates = g.earned()
	if len(f.Templates) > maxRows {
		f.Templates, f.MoreTemplates = f.Templates[:maxRows], len(f.Templates)-maxRows
	}
	return f
}

// caption says what the drawing has and what it leaves out.
func (g *Graph) caption() string {
	counts := map[Kind]int{}
	for _, n := range g.Nodes {
		counts[n.Kind]++
	}
	text := fmt.Sprintf("%d solutions, %d templates", counts[Solution], counts[Template])
	if n := counts[Problem]; n > 0 {
		text += fmt.Sprintf(", %d problems that are not solved", n)
	}
	if note := g.cutNote(); note != "" {
		text += " (" + note + ")"
	}
	if _, left := g.groups(); left > 0 {
		text += fmt.Sprintf(". %d edges are not drawn: further uses as examples, and further templates of a solution", left)
	}
	return text + "."
}

// earned lists which template solved what, those first that solved most.
func (g *Graph) earned() []earned {
	common := g.commonWords()
	rows := map[int]*earned{}
	problems := map[int][]string{}
	for i := range g.Nodes {
		if n := &g.Nodes[i]; n.Kind == Template {
			rows[i] = &earned{Template: n.Key, Model: n.Model, Seen: int(n.Seen), Failed: int(n.Failed)}
		}
	}
	for _, e := range g.Edges {
		r := rows[e.From]
		if r == nil {
			continue
		}
		name := strings.TrimPrefix(g.Nodes[e.To].Key, common)
		switch e.Relation {
		case LearnedFrom:
			r.From = name
		case Solved:
			r.Solved++
			problems[e.From] = append(problems[e.From], name)
		}
	}
	var list []earned
	for i := range g.Nodes {
		if r := rows[i]; r != nil {
			names := problems[i]
			r.Problems = strings.Join(names[:min(len(names), maxSolved)], ", ")
			if more := len(names) - maxSolved; more > 0 {
				r.Problems += fmt.Sprintf(" and %d more", more)
			}
			list = append(list, *r)
		}
	}
	slices.SortStableFunc(list, func(a, b earned) int { return cmp.Or(cmp.Compare(b.Solved, a.Solved), cmp.Compare(b.Seen, a.Seen)) })
	for i := range list {
		r := &list[i]
		for _, s := range []*string{&r.Template, &r.Model, &r.From, &r.Problems} {
			*s = cutText(*s)
		}
	}
	return list
}

func cutText(s string) string {
	if runes := []rune(s); len(runes) > maxTip {
		return string(runes[:maxTip-1]) + "…"
	}
	return s
}
