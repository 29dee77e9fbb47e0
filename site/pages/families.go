package main

import (
	"bufio"
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/dialect"
)

// elsewhere says, for families, how their replies go wrong in other programs, and has replies
// for those that the conformance kit has none of. A section is "## NAME", text in Markdown,
// and perhaps a block of code with the reply.
//
//go:embed families.md
var elsewhere string

// A note is a section of families.md.
type note struct{ text, reply string }

func readNotes(text string) map[string]note {
	notes := map[string]note{}
	for _, section := range strings.Split("\n"+text, "\n## ")[1:] {
		name, rest, _ := strings.Cut(section, "\n")
		before, block, _ := strings.Cut(rest, "```\n")
		reply, _, _ := strings.Cut(block, "\n```")
		notes[strings.TrimSpace(name)] = note{strings.TrimSpace(before), reply}
	}
	return notes
}

// A sample is a reply of the conformance kit.
type sample struct {
	ID      string       `json:"id"`
	Raw     string       `json:"raw"`
	Deltas  []string     `json:"deltas"`
	Dialect string       `json:"dialect"`
	Start   string       `json:"start"`
	End     sotto.Ending `json:"end"`
}

const kit = "testdata/conformance.jsonl"

func readKit(root string) (list []sample, err error) {
	data, err := os.ReadFile(filepath.Join(root, kit))
	if err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var s sample
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			return nil, fmt.Errorf("%s: %w", kit, err)
		}
		s.Raw += strings.Join(s.Deltas, "")
		list = append(list, s)
	}
	return list, lines.Err()
}

// families adds a page for each dialect, and one that lists them.
func (s *site) families(root string) error {
	kitReplies, err := readKit(root)
	if err != nil {
		return err
	}
	notes := readNotes(elsewhere)
	var errs []error
	var list strings.Builder
	list.WriteString("# Model families\n\nEach family of models marks its thoughts in its own way. A page says how, shows a reply with what is thought and what is said, " +
		"and names the setting.\nSotto chooses by the model's name. [Dialects](dialects.md) says how to add a family.\n\n| family | dialect | markers of thoughts |\n| --- | --- | --- |\n")
	for _, d := range dialect.All() {
		n, noted := notes[d.Name]
		delete(notes, d.Name)
		body, err := family(d, n, noted, kitReplies)
		if err != nil {
			errs = append(errs, fmt.Errorf("dialect %s: %w", d.Name, err))
			continue
		}
		var opens []string
		for _, m := range d.Markers {
			if m.Role == dialect.RoleReasoning {
				opens = append(opens, code(openers(m)[0]))
			}
		}
		if d.Header != nil {
			opens = append(opens, code(d.Header.Begin[0]+"…"))
		}
		fmt.Fprintf(&list, "| [%s](site:/families/%s.html) | `%s` | %s |\n", familyTitle(d), d.Name, d.Name, strings.Join(opens, " "))
		s.pages = append(s.pages, page{Title: familyTitle(d), URL: "/families/" + d.Name + ".html", Section: "families", Weight: 2, Source: "docs/dialects.md",
			Questions: familyWords(d), body: body})
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	for name := range notes {
		return fmt.Errorf("families.md: no dialect %s", name)
	}
	s.pages = append(s.pages, page{Title: "Model families", URL: "/families/all.html", Section: "families", Weight: 1, Source: "docs/dialects.md", body: list.String()})
	return nil
}

func familyTitle(d dialect.Dialect) string {
	if d.Title == "" {
		return d.Name
	}
	title, _, _ := strings.Cut(d.Title, ": ")
	if len(d.Models) == 0 { // the title says what a prompt asks for
		return d.Name + ": " + d.Title
	}
	if title == "Mistral" {
		return d.Title
	}
	return title
}

// familyWords are words for the search: how users write the names of the models.
func familyWords(d dialect.Dialect) []string {
	words := []string{d.Name, "which setting for " + familyTitle(d), "dialect"}
	for _, m := range d.Models {
		words = append(words, strings.Trim(strings.ReplaceAll(m, "*", " "), " -"))
	}
	return words
}

// code is text as code in Markdown, in a cell of a table too.
func code(s string) string {
	return "<code>" + strings.NewReplacer("|", "&#124;", "\n", "⏎", "*", "&#42;", "_", "&#95;", "[", "&#91;", "]", "&#93;").Replace(html.EscapeString(s)) + "</code>"
}

func openers(m dialect.Marker) []string {
	if m.Tag != "" {
		return []string{"<" + m.Tag + ">"}
	}
	return m.Open
}

func closers(m dialect.Marker) []string {
	if m.Tag != "" {
		return []string{"</" + m.Tag + ">"}
	}
	return m.Close
}

func codes(list []string) string {
	var all []string
	for _, s := range list {
		all = append(all, code(s))
	}
	if len(all) == 0 {
		return "–"
	}
	return strings.Join(all, " ")
}

var roles = map[dialect.Role]string{
	dialect.RoleReasoning: "a thought", "narration": "narration", "tool": "a call", "output": "the answer", "wrapper": "around the answer",
}

func family(d dialect.Dialect, n note, noted bool, kitReplies []sample) (string, error) {
	g, err := sotto.Named(d.Name)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", html.EscapeString(familyTitle(d)))
	fmt.Fprintf(&b, "The dialect is `%s`", d.Name)
	if len(d.Models) > 0 {
		fmt.Fprintf(&b, ". Sotto chooses it for models whose names match %s", codes(d.Models))
	}
	b.WriteString(".\n\n## The setting\n\n")
	setting(&b, d)
	b.WriteString("\n## A reply\n\n")
	reply, from, err := chooseReply(g, d, n, kitReplies)
	if err != nil {
		return "", err
	}
	showReply(&b, reply, from)
	b.WriteString("\n## How it goes wrong elsewhere\n\n")
	goesWrong(&b, reply)
	if noted && n.text != "" {
		b.WriteString(n.text + "\n\n")
	}
	b.WriteString("What other readers do with everyday replies was [measured](alternatives.md#measured-everyday-replies).\n\n")
	markers(&b, d)
	if len(d.Sources) > 0 {
		fmt.Fprintf(&b, "\nRead in: %s.\n", html.EscapeString(strings.Join(d.Sources, "; ")))
	}
	fmt.Fprintf(&b, "\n[Try a reply of your own](site:/playground.html#dialect=%s) · [All families](site:/families/all.html)\n", d.Name)
	return b.String(), nil
}

func setting(b *strings.Builder, d dialect.Dialect) {
	switch {
	case len(d.Models) > 0:
		fmt.Fprintf(b, "None, where the request names the model as above: `sotto serve --upstream URL` before vLLM, llama.cpp, Ollama, SGLang or a provider. "+
			"If your server gives the model another name, say `--dialect %s`, or set `dialect: %s` for the model under `routes` ([settings](reference/settings.md)). "+
			"For files: `sotto strip --dialect %s FILE`.\n", d.Name, d.Name, d.Name)
	case d.Name == "default":
		b.WriteString("None: it is used where no other dialect is known.\n")
	default:
		fmt.Fprintf(b, "`--dialect %s`, since no name of a model says it. For files: `sotto strip --dialect %s FILE`.\n", d.Name, d.Name)
	}
	if specialMarkers(d) {
		b.WriteString("\nThe markers are special tokens. vLLM and SGLang take those out of the text unless the request has `skip_special_tokens: false`; " +
			"or let the server's own reasoning parser separate the thought: the gateway then passes its field on.\n")
	}
	switch d.PreOpens {
	case dialect.PreOpensYes:
		b.WriteString("\nThe prompt opens the thought itself, so that a reply begins inside it and shows only the closing marker. Sotto expects that (`start: auto`). " +
			"If a stream comes late because its start is held, say `--start inside` for a model that always thinks.\n")
	case dialect.PreOpensPrompt:
		b.WriteString("\nWhether the prompt opens the thought depends on the request, mostly on the switch of thinking. The gateway reads the switch, asks the server for its template, " +
			"and [learns it from replies](explanation/learned-starts.md). For files, say `--start inside` or `--start auto` if the opening marker is missing.\n")
	}
}

func specialMarkers(d dialect.Dialect) bool {
	if d.Header != nil {
		return d.Header.Begin[0][0] == '<'
	}
	for _, m := range d.Markers {
		if m.Role == dialect.RoleReasoning && m.Tag == "" && !m.Phrase && strings.ContainsAny(m.Open[0][:1], "<[") {
			return true
		}
	}
	return false
}

func markers(b *strings.Builder, d dialect.Dialect) {
	b.WriteString("## Markers\n\n")
	if d.Header != nil {
		fmt.Fprintf(b, "Each message begins with a header: %s, the channel, %s. It ends with %s.\n\n| channel | what it is |\n| --- | --- |\n",
			codes(d.Header.Begin), codes(d.Header.Body), codes(append(append([]string{}, d.Header.End...), d.Header.Close...)))
		for _, name := range slices.Sorted(maps.Keys(d.Header.Channels)) {
			fmt.Fprintf(b, "| %s | %s |\n", code(name), cmp.Or(roles[d.Header.Channels[name]], string(d.Header.Channels[name])))
		}
		b.WriteString("\n")
	}
	if len(d.Markers) > 0 {
		b.WriteString("| opens | closes | what is inside |\n| --- | --- | --- |\n")
		for _, m := range d.Markers {
			fmt.Fprintf(b, "| %s | %s | %s |\n", codes(openers(m)), codes(closers(m)), roles[m.Role])
		}
	}
	if d.PreOpensSince != "" {
		fmt.Fprintf(b, "\nWho opens the thought, and since when: %s.\n", html.EscapeString(d.PreOpensSince))
	}
}

// chooseReply returns a short reply of a family that has a thought and an answer, as it is
// read: of the notes, else of the kit, else one of the kit that another family shares.
func chooseReply(g *sotto.Grammar, d dialect.Dialect, n note, kitReplies []sample) (*sotto.Reply, string, error) {
	if n.reply != "" {
		r, err := g.ParseWith(n.reply, sotto.Options{}, sotto.EndStopped)
		if err == nil && (len(r.Reasoning()) == 0 || r.Visible() == "") {
			err = fmt.Errorf("the reply in families.md has no thought or no answer: %q", n.reply)
		}
		return r, "It was written for this page, by the markers below.", err
	}
	var best *sotto.Reply
	var from string
	score := 0
	for _, s := range kitReplies {
		if len(s.Raw) > 600 || strings.ContainsRune(s.Raw, '�') {
			continue
		}
		beginning := sotto.Beginning(s.Start)
		if s.Dialect != d.Name {
			beginning = ""
		}
		r, err := g.ParseWith(s.Raw, sotto.Options{Start: beginning}, s.End)
		if err != nil {
			continue // a start that this dialect does not have
		}
		thought, said := strings.Join(r.Reasoning(), ""), r.Visible()
		if len(thought) < 8 || len(said) < 3 {
			continue
		}
		points := 1 + min(len(thought), 80) + min(len(said), 40)
		if s.Dialect == d.Name {
			points += 1000
		}
		if strings.HasPrefix(s.ID, "family-") && s.Dialect == d.Name {
			points += 500
		}
		points -= 300 * len(r.Diagnostics)
		if strings.ContainsAny(thought+said, "<[|◁`") {
			points -= 400 // a case about markers that are not the family's, or are quoted
		}
		if best == nil || points > score {
			best, score = r, points
			from = fmt.Sprintf("It is `%s` of the [conformance kit](conformance.md).", s.ID)
		}
	}
	if best == nil {
		return nil, "", fmt.Errorf("the kit has no reply with a thought and an answer: write one in families.md")
	}
	return best, from, nil
}

var channelWords = map[sotto.Channel]string{
	sotto.ChannelText: "text", sotto.ChannelReasoning: "reasoning", sotto.ChannelNarration: "narration", sotto.ChannelTool: "tool",
	sotto.ChannelAside: "aside", sotto.ChannelMarkup: "markup",
}

// showReply shows a reply as a strip in the colours of its channels, and what comes of it.
func showReply(b *strings.Builder, r *sotto.Reply, from string) {
	b.WriteString("<pre class=\"reply\" tabindex=\"0\" role=\"region\" aria-label=\"The reply as the model wrote it\">")
	for _, s := range r.Segments {
		fmt.Fprintf(b, "<span class=\"c-%s\">%s</span>", channelWords[s.Channel], blank(html.EscapeString(r.Raw[s.Start:s.End])))
	}
	b.WriteString("</pre>\n\n")
	b.WriteString("<dl class=\"reading\">\n<dt>thought</dt>\n")
	for _, t := range r.Reasoning() {
		fmt.Fprintf(b, "<dd class=\"c-reasoning\">%s</dd>\n", blank(html.EscapeString(t)))
	}
	fmt.Fprintf(b, "<dt>said</dt>\n<dd class=\"c-text\">%s</dd>\n</dl>\n\n", blank(html.EscapeString(r.Visible())))
	fmt.Fprintf(b, "%s The splitter read it when this page was made, in the dialect `%s`", from, r.Dialect)
	if start := string(r.Start); start != "" && start != "outside" {
		fmt.Fprintf(b, " from start `%s`", start)
	}
	b.WriteString(".\n")
	for i, d := range r.Diagnostics {
		if i == 0 {
			b.WriteString("Its diagnostics: ")
		} else {
			b.WriteString(", ")
		}
		fmt.Fprintf(b, "`%s`", d.Code)
		if i == len(r.Diagnostics)-1 {
			b.WriteString(".\n")
		}
	}
}

// blank keeps the lines of a text within one block of HTML, which an empty line would end.
func blank(s string) string {
	return strings.NewReplacer("\n", "&#10;", "\t", "&#9;").Replace(s)
}

var usual = regexp.MustCompile(`(?s)<think>.*?</think>`)

// goesWrong shows what the usual regular expression leaves of the reply.
func goesWrong(b *strings.Builder, r *sotto.Reply) {
	left := strings.TrimSpace(usual.ReplaceAllString(r.Raw, ""))
	if left == strings.TrimSpace(r.Visible()) {
		b.WriteString("The usual regular expression, `<think>.*?</think>`, reads this reply right. It does not read one that is cut off inside the thought, or whose opening tag is in the prompt.\n\n")
		return
	}
	b.WriteString("This is what the usual regular expression, `<think>.*?</think>`, leaves of the reply above:\n\n")
	fmt.Fprintf(b, "<pre class=\"reply\" tabindex=\"0\" role=\"region\" aria-label=\"What a regular expression leaves\">%s</pre>\n\n", blank(html.EscapeString(left)))
}
