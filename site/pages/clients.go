package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

const clientsSource, clientsEvidence = "docs/clients.md", "docs/evidence/clients.md"

// A client is what the tables of the two documents say about it.
type client struct {
	name, kind string
	paste      string
	rows       []string // sentences of the evidence, each a list item
}

// clients adds a page for each client of docs/clients.md, and one that lists them.
func (s *site) clients(root string) error {
	pasted, err := readTables(root, clientsSource)
	if err != nil {
		return err
	}
	tested, err := readTables(root, clientsEvidence)
	if err != nil {
		return err
	}
	var names []string
	found := map[string]*client{}
	for _, t := range pasted {
		if len(t.head) != 2 || t.head[0] != "client" || t.head[1] != "paste" {
			continue
		}
		for _, row := range t.rows {
			name := strings.ReplaceAll(row[0], "`", "")
			if found[name] == nil {
				names = append(names, name)
				found[name] = &client{name: name, kind: t.under}
			}
			found[name].paste = row[1]
		}
	}
	if len(names) == 0 {
		return fmt.Errorf("%s: no table with the columns client and paste", clientsSource)
	}
	for _, t := range tested {
		for _, row := range t.rows {
			c := found[strings.ReplaceAll(row[0], "`", "")]
			if c == nil || len(row) != len(t.head) {
				continue
			}
			c.rows = append(c.rows, "\n"+t.under+":\n")
			for i := 1; i < len(row); i++ {
				c.rows = append(c.rows, fmt.Sprintf("- %s: %s", t.head[i], row[i]))
			}
		}
	}
	var list strings.Builder
	list.WriteString("# Clients\n\nWhat to paste into each client, and what was tested with it. The same on one page: [Find your client](clients.md).\n")
	under := ""
	for _, name := range names {
		c := found[name]
		if c.kind != under {
			under = c.kind
			fmt.Fprintf(&list, "\n## %s\n\n", under)
		}
		fmt.Fprintf(&list, "- [%s](site:/clients/%s.html)\n", name, slug(name))
		s.pages = append(s.pages, page{Title: name, URL: "/clients/" + slug(name) + ".html", Section: "clients", Weight: 2, Source: clientsSource,
			Questions: []string{"how do I set up " + name, "use " + name + " with my own model", "client"}, body: clientPage(c, found)})
	}
	s.pages = append(s.pages, page{Title: "Clients", URL: "/clients/all.html", Section: "clients", Weight: 1, Source: clientsSource, body: list.String()})
	return nil
}

var sameAs = regexp.MustCompile(`^as with (ai 6)$`)

func clientPage(c *client, all map[string]*client) string {
	var b strings.Builder
	paste := c.paste
	if m := sameAs.FindStringSubmatch(paste); m != nil {
		_, rest, _ := strings.Cut(c.name, ", ")
		if other := all[m[1]+", "+rest]; other != nil {
			paste = other.paste
		}
	}
	fmt.Fprintf(&b, "# %s\n\nTo use %s with the gateway:\n\n%s\n\n", c.name, c.name, paste)
	b.WriteString("The gateway is at `http://127.0.0.1:8383`. Replace `MODEL` with the name of a model, and `KEY` with your [token](reference/access.md). " +
		"A gateway that asks for no token takes any key, such as `local`.\n\n")
	if strings.Contains(paste, "the same with") || strings.Contains(paste, "of the table above") {
		fmt.Fprintf(&b, "\"The same\" is the row above it in [Find your client](clients.md#%s).\n\n", strings.ReplaceAll(strings.ToLower(c.kind), " ", "-"))
	}
	b.WriteString("## What was tested\n\n")
	if len(c.rows) > 0 {
		b.WriteString(strings.TrimSpace(strings.Join(c.rows, "\n")) + "\n\nThe words of this table are explained in [What each client reads](evidence/clients.md).\n\n")
	} else {
		b.WriteString("[What each client reads](evidence/clients.md) says what was tested, and with which versions.\n\n")
	}
	b.WriteString("## If it does not work\n\n- In a container, `127.0.0.1` is the container: [Serve other machines](howto/other-machines.md).\n" +
		"- Look for the error: [errors by name](site:/errors/all.html), [messages of providers](errors.md).\n" +
		"- [Mend what does not work](howto/troubleshooting.md). `sotto init --for NAME` prints the setting for the clients that it knows.\n\n[All clients](site:/clients/all.html)\n")
	return b.String()
}

var notSlug = regexp.MustCompile(`[^a-z0-9]+`)

func slug(name string) string {
	return strings.Trim(notSlug.ReplaceAllString(strings.ToLower(name), "-"), "-")
}

// A table is a table of Markdown, with the heading that it is under.
type table struct {
	under string
	head  []string
	rows  [][]string
}

func readTables(root, name string) (list []table, err error) {
	data, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		return nil, err
	}
	under, in := "", false
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "#"):
			under = strings.TrimLeft(line, "# ")
			in = false
		case !strings.HasPrefix(line, "|"):
			in = false
		case !in:
			in = true
			list = append(list, table{under: under, head: cells(line)})
		case strings.HasPrefix(line, "| ---"):
		default:
			t := &list[len(list)-1]
			t.rows = append(t.rows, cells(line))
		}
	}
	return list, nil
}

// cells returns the cells of a row. A | that a backslash precedes is part of a cell.
func cells(line string) (list []string) {
	line = strings.ReplaceAll(strings.Trim(line, "|"), `\|`, "\x00")
	for cell := range strings.SplitSeq(line, "|") {
		list = append(list, strings.ReplaceAll(strings.TrimSpace(cell), "\x00", "|"))
	}
	return list
}
