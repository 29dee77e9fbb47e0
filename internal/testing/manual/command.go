package main

import (
	"strings"

	"github.com/alecthomas/kong"
)

// nodes returns a node and all commands below it.
func nodes(node *kong.Node) []*kong.Node {
	list := []*kong.Node{node}
	for _, child := range node.Children {
		if !child.Hidden {
			list = append(list, nodes(child)...)
		}
	}
	return list
}

// pageName is the name of the page of a command, such as sotto-record-ls.
func pageName(node *kong.Node) string { return strings.ReplaceAll(node.FullPath(), " ", "-") }

// command returns the page of one command, or that of the whole program.
func (e edition) command(node *kong.Node) string {
	summary, detail := node.Help, node.Detail
	if node.Parent == nil { // the program has one text
		summary, detail, _ = strings.Cut(node.Help, "\n\n")
	}
	detail, examples := cutExamples(detail)
	p := e.begin(pageName(node), 1, lowerFirst(summary))
	p.section("SYNOPSIS")
	synopsis := strings.TrimPrefix(strings.TrimPrefix(node.Summary(), node.Path()), " ")
	p.WriteString(bold(node.FullPath()) + " " + roff(synopsis) + "\n")
	p.section("DESCRIPTION")
	p.line(summary)
	if detail != "" {
		p.WriteString(".PP\n")
		p.prose(detail)
	}
	commandList(p, node)
	argumentList(p, node)
	optionList(p, node)
	if examples != "" {
		p.section("EXAMPLES")
		p.prose(examples)
	}
	seeAlso(p, node)
	return p.String()
}

// cutExamples parts a text at its examples.
func cutExamples(text string) (before, examples string) {
	for _, title := range []string{"Examples:\n\n", "Example:\n\n"} {
		if i := strings.Index(text, title); i == 0 || i > 0 && text[i-1] == '\n' {
			return strings.TrimSpace(text[:i]), text[i+len(title):]
		}
	}
	return text, ""
}

// lowerFirst is for a summary in NAME, which is not a sentence. A word such as HTTP
// keeps its capitals.
func lowerFirst(s string) string {
	if len(s) > 1 && s[1] >= 'a' && s[1] <= 'z' {
		return strings.ToLower(s[:1]) + s[1:]
	}
	return s
}

func commandList(p *page, node *kong.Node) {
	if len(node.Children) == 0 {
		return
	}
	p.section("COMMANDS")
	for _, child := range node.Children {
		if !child.Hidden {
			p.term(bold(pageName(child))+"(1)", child.Help)
		}
	}
}

func argumentList(p *page, node *kong.Node) {
	if len(node.Positional) == 0 {
		return
	}
	p.section("ARGUMENTS")
	for _, arg := range node.Positional {
		p.term(italic(arg.Summary()), arg.Help)
	}
}

// optionList lists the flags of the command, then those of all commands. A command
// that has a default takes the flags of that one.
func optionList(p *page, node *kong.Node) {
	p.section("OPTIONS")
	groups := node.AllFlags(true)
	if node.DefaultCmd != nil {
		groups = node.DefaultCmd.AllFlags(true)
	}
	for i := range groups {
		for _, f := range groups[len(groups)-1-i] {
			p.term(option(f), f.Help)
			if name := f.Tag.Get("setting"); name != "" {
				p.WriteString("The environment variable is " + bold("$"+name) + ".\n")
			}
		}
	}
}

// option is a flag as people write it.
func option(f *kong.Flag) string {
	text := "--" + f.Name
	if f.IsBool() && f.Tag.Negatable != "" {
		text = "--[no-]" + f.Name
	}
	text = bold(text)
	if f.Short != 0 {
		text = bold("-"+string(f.Short)) + ", " + text
	}
	if !f.IsBool() && !f.IsCounter() {
		text += "=" + italic(f.FormatPlaceHolder())
	}
	return text
}

// seeAlso names the pages around this one.
func seeAlso(p *page, node *kong.Node) {
	var names []string
	if node.Parent != nil {
		names = append(names, bold(pageName(node.Parent))+"(1)")
		for _, sibling := range node.Parent.Children {
			if sibling != node && !sibling.Hidden && node.Parent.Parent != nil {
				names = append(names, bold(pageName(sibling))+"(1)")
			}
		}
	}
	if node.Parent == nil || node.Parent.Parent == nil && (node.Name == "serve" || node.Name == "init") {
		names = append(names, bold("sotto.yaml")+"(5)")
	}
	p.section("SEE ALSO")
	p.WriteString(strings.Join(names, ",\n") + "\n")
}
