package main

import (
	"fmt"
	"html"
	"regexp"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/explain"
)

// errors adds a page for each name of an error or a diagnostic, and one that lists them.
func (s *site) errors(string) error {
	var list strings.Builder
	list.WriteString("# Errors and diagnostics, by name\n\nEach error of the gateway has its name in the header `Sotto-Error` of the response, and in the log " +
		"as `explain`. `sotto explain NAME` prints the same texts.\nFor messages of model servers and providers, see [Error messages](../errors.md).\n")
	group := ""
	for _, e := range explain.Entries() {
		if e.Group != group {
			group = e.Group
			fmt.Fprintf(&list, "\n## %s\n\n| name | meaning |\n| --- | --- |\n", group)
		}
		fmt.Fprintf(&list, "| [`%s`](%s) | %s. |\n", e.Name, errorLink(e.Name), e.Brief())
		var b strings.Builder
		fmt.Fprintf(&b, "# `%s`\n\n", e.Name)
		fmt.Fprintf(&b, "<p class=\"where\">%s</p>\n\n", codeSpans.ReplaceAllString(html.EscapeString(e.Where), "<code>$1</code>"))
		for _, m := range e.Messages {
			fmt.Fprintf(&b, "    %s\n", m)
		}
		fmt.Fprintf(&b, "\n%s\n\n", e.Meaning)
		if e.Why != "" {
			fmt.Fprintf(&b, "## Why\n\n%s\n\n", e.Why)
		}
		if e.Do != "" {
			fmt.Fprintf(&b, "## What to do\n\n%s\n\n", e.Do)
		}
		if len(e.Also) > 0 {
			fmt.Fprintf(&b, "Other names for the same: `%s`.\n\n", strings.Join(e.Also, "`, `"))
		}
		fmt.Fprintf(&b, "On the command line: `sotto explain %s`. [All names](%s)\n", e.Name, errorLink(""))
		words := append([]string{e.Name, strings.ReplaceAll(e.Name, "-", "_"), strings.ReplaceAll(e.Name, "-", " ")}, e.Also...)
		s.pages = append(s.pages, page{Title: e.Name, URL: "/errors/" + e.Name + ".html", Section: "errors", Weight: 2, Source: "docs/errors.md",
			Questions: append(words, e.Messages...), body: b.String()})
	}
	s.pages = append(s.pages, page{Title: "Errors and diagnostics, by name", URL: "/errors/all.html", Section: "errors", Weight: 1, Source: "docs/errors.md",
		body: strings.ReplaceAll(list.String(), "](../errors.md)", "](errors.md)")})
	return nil
}

// codeSpans are the names in back-ticks of a text that is written as HTML.
var codeSpans = regexp.MustCompile("`([^`]+)`")

// errorLink is a link to the page of an error, or to the list of them.
func errorLink(name string) string {
	if name == "" {
		name = "all"
	}
	return "site:/errors/" + name + ".html"
}
