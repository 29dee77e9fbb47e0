package console

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html/template"
	"io/fs"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/base/visible"
	"github.com/sotto-llm/sotto/internal/console/view"
	"github.com/sotto-llm/sotto/internal/recorded/eventtext"
	"github.com/sotto-llm/sotto/record"
)

//go:embed templates/*.html
var templateFiles embed.FS

//go:embed assets
var assetFiles embed.FS

// packedTemml is the library that typesets formulas, as its package on npm has it
// (temml 0.13.5, dist/temml.min.js), compressed. docs/supply.md says more.
//
//go:embed vendored/temml.min.js.gz
var packedTemml []byte

// maxTemml bounds the library, unpacked.
const maxTemml = 1 << 20

// temml is the library as a module. It is unpacked when the first page with a formula is read.
var temml = sync.OnceValue(func() string {
	r, err := gzip.NewReader(bytes.NewReader(packedTemml))
	if err != nil {
		panic("console: " + err.Error())
	}
	data, err := files.ReadAll(r, maxTemml)
	if err != nil {
		panic("console: " + err.Error())
	}
	return string(data) + "\nexport default temml;\n"
})

// standalone are pages with a frame of their own.
var standalone = []string{"login", "export"}

// A look is what the pages of a console have in common: those of this package and of its
// extension.
type look struct {
	pages   map[string]*template.Template // each with the common parts
	assets  map[string]string
	style   string // the style sheet of all pages
	version string // of the assets: it changes with them, so that a new program does not use old ones
}

// newLook reads the files of the pages. own changes their texts; it may be nil.
func newLook(x *Extension, own func(string) string) *look {
	l := &look{pages: map[string]*template.Template{}, assets: map[string]string{}}
	if x == nil {
		x = &Extension{}
	}
	l.readAssets(assetFiles)
	common := template.New("").Funcs(functions).Funcs(x.Functions).Funcs(template.FuncMap{
		"style": func() template.CSS { return template.CSS(l.style) }, "policy": l.exportPolicy,
	})
	if own != nil {
		common.Funcs(template.FuncMap{
			"w": func(name string) string { return own(Word(name)) },
			"n": func(n any, name string) string { return own(counted(n, name)) },
		})
	}
	template.Must(common.ParseFS(templateFiles, "templates/frame.html", "templates/parts.html"))
	l.readPages(common, templateFiles)
	if x.Files != nil {
		l.readAssets(x.Files)
		l.readPages(common, x.Files)
	}
	l.join(x.Style)
	return l
}

// readPages reads the templates of pages.
func (l *look) readPages(common *template.Template, from fs.FS) {
	files, _ := fs.ReadDir(from, "templates")
	for _, f := range files {
		name := strings.TrimSuffix(f.Name(), ".html")
		if name != "frame" && name != "parts" {
			l.pages[name] = template.Must(template.Must(common.Clone()).ParseFS(from, "templates/"+f.Name()))
		}
	}
}

// readAssets reads the style sheets and scripts.
func (l *look) readAssets(from fs.FS) {
	files, _ := fs.ReadDir(from, "assets")
	for _, f := range files {
		data, _ := fs.ReadFile(from, "assets/"+f.Name())
		l.assets[f.Name()] = string(data)
	}
}

// join makes the style sheet of style.css, those of single screens after it, and a last one.
func (l *look) join(last string) {
	sum := sha256.New()
	l.style = l.assets["style.css"]
	for _, name := range slices.Sorted(maps.Keys(l.assets)) {
		if strings.HasSuffix(name, ".css") && name != "style.css" {
			l.style += l.assets[name]
		}
		sum.Write([]byte(l.assets[name]))
	}
	l.style += last
	l.version = hex.EncodeToString(sum.Sum(nil)[:6])
}

// functions are what templates call.
var functions = template.FuncMap{
	"w": Word, "n": counted, "size": size, "size64": func(n int64) string { return size(int(n)) }, "kind": kindName, "hitLink": hitLink, "atGateway": AtGateway, "times100": func(v float64) float64 { return 100 * v }, "num": number, "ms": millis, "ago": ago, "utc": func(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) },
	"clock": clock, "line": line, "outcome": outcomeOf,
	"bars": func() int { return view.Strip() }, "markdown": markdown, "answer": answerHTML,
	"query": exchangeQuery, "bytesAt": byteLink, "tick": tick, "str": func(t record.Text) string { return string(t) }, "diff": diffLines, "percent": percent, "add": func(a, b int) int { return a + b }, "minus": func(a, b int) int { return a - b }, "channels": channelNames,
	"runAt": RunToken, "lines": linesOf, "why": whyWord, "gap": gapWord, "callState": stateWord, "long": long, "kindOf": kindOf, "pct": func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) + "%" },
	"thoughtWord": eventtext.Thought, "given": givenBy, "others": otherIDs, "tokens": func(bytes int) int { return bytes / 4 }, "json": indented, "textType": func(t record.Type) string { return strings.ToLower(strings.ReplaceAll(string(t), "_", " ")) },
}

// page makes a page. In addition to what html/template escapes, no character in
// it can hide or reorder the text around it.
func (l *look) page(name string, f frame) ([]byte, error) {
	t := l.pages[name]
	if t == nil {
		return nil, fmt.Errorf("there is no template %q", name)
	}
	start := "frame"
	if slices.Contains(standalone, name) {
		start = name
	}
	return execute(t, start, f)
}

func (l *look) export(d exchangeData) ([]byte, error) {
	return execute(l.pages["export"], "export", frame{Title: fmt.Sprintf("%s #%d", d.Model, d.Event), Data: d})
}

func execute(t *template.Template, start string, f frame) ([]byte, error) {
	var b bytes.Buffer
	if err := t.ExecuteTemplate(&b, start, f); err != nil {
		return nil, fmt.Errorf("page: %w", err)
	}
	return []byte(visible.Text(b.String())), nil
}

// exportPolicy is the policy of an exported page: its style, and nothing else.
func (l *look) exportPolicy() string {
	sum := sha256.Sum256([]byte(visible.Text(l.style)))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'"
}

// asset serves the style sheet and the script. They hold nothing secret.
func (c *Console) asset(w http.ResponseWriter, r *http.Request) {
	h, l := w.Header(), c.look()
	var text string
	switch name := r.PathValue("file"); {
	case name == "style.css":
		text = l.style
		h.Set("Content-Type", "text/css; charset=utf-8")
	case name == "temml.js":
		text = temml()
		h.Set("Content-Type", "text/javascript; charset=utf-8")
	case strings.HasSuffix(name, ".js") && l.assets[name] != "":
		text = l.assets[name]
		h.Set("Content-Type", "text/javascript; charset=utf-8")
	default:
		refuse(w, r, http.StatusNotFound, "there is no such file")
		return
	}
	if r.URL.Query().Get("v") == l.version {
		h.Set("Cache-Control", "private, max-age=31536000, immutable")
	}
	http.ServeContent(w, r, "", time.Time{}, strings.NewReader(text))
}

// number prints a number with thin spaces between the thousands.
func number(n any) string {
	digits := fmt.Sprint(n)
	var b strings.Builder
	for i, r := range digits {
		if left := len(digits) - i; i > 0 && left%3 == 0 && digits[i-1] != '-' && len(digits) > 4 {
			b.WriteString("\u202f")
		}
		b.WriteRune(r)
	}
	return b.String()
}

// size prints a number of bytes.
func size(n int) string {
	switch {
	case n < 1000:
		return strconv.Itoa(n) + " B"
	case n < 1_000_000:
		return short(float64(n)/1e3) + " kB"
	case n < 1_000_000_000:
		return short(float64(n)/1e6) + " MB"
	}
	return short(float64(n)/1e9) + " GB"
}

func short(v float64) string {
	if v < 9.95 {
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}

// millis prints a time in milliseconds.
func millis(n int64) string {
	switch d := time.Duration(n) * time.Millisecond; {
	case n < 1000:
		return strconv.FormatInt(n, 10) + " ms"
	case d < time.Minute:
		return strconv.FormatFloat(d.Seconds(), 'f', 2, 64) + " s"
	default:
		return d.Round(time.Second).String()
	}
}

// ago says how long before now a time was.
func ago(now, t time.Time) string {
	d := now.Sub(t)
	switch {
	case d < 0:
		return Word("time.future")
	case d < time.Minute:
		return fmt.Sprintf(Word("time.seconds"), int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf(Word("time.minutes"), int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf(Word("time.hours"), int(d.Hours()))
	}
	return fmt.Sprintf(Word("time.days"), int(d.Hours()/24))
}

// clock prints a time of the same day, or a date with it, in UTC.
func clock(now, t time.Time) string {
	now, t = now.UTC(), t.UTC()
	if now.Format(time.DateOnly) == t.Format(time.DateOnly) {
		return t.Format("15:04:05")
	}
	return t.Format("2006-01-02 15:04")
}

// line puts a text on one line.
func line(t record.Text) string { return shorttext.OneLine(string(t)) }

// maxLines bounds the lines of narration that stand apart; the rest is on the last.
const maxLines = 400

// linesOf returns the lines of a text that have something on them.
func linesOf(text string) []string {
	list := slices.DeleteFunc(strings.Split(text, "\n"), func(l string) bool { return strings.TrimSpace(l) == "" })
	if len(list) > maxLines {
		list = append(list[:maxLines-1], strings.Join(list[maxLines-1:], " "))
	}
	return list
}

// outcomeOf is the class of an outcome that a style knows.
func outcomeOf(outcome string) string {
	if slices.Contains(view.Outcomes(), outcome) {
		return outcome
	}
	return "unknown"
}

// exchangeQuery is the query of a form of an exchange. The form markdown is the
// first one, rendered.
func exchangeQuery(form string, re manner) string {
	q := re.values()
	switch form {
	case "", views[0]:
	case "markdown":
		q.Set("markdown", "1")
	default:
		q.Set("view", form)
	}
	return withQuery("", q)
}

// tick is where a byte is in a strip.
func tick(at, total int) int { return at * view.Strip() / max(1, total) }

func percent(part, of int) string {
	if of == 0 {
		return "0 %"
	}
	return fmt.Sprintf("%.0f %%", 100*float64(part)/float64(of))
}

// A diffLine is a line of a comparison, with the class that styles it.
type diffLine struct{ Class, Text string }

func diffLines(text string) []diffLine {
	var list []diffLine
	for l := range strings.Lines(text) {
		class := ""
		switch l[0] {
		case '+':
			class = "added"
		case '-':
			class = "removed"
		case '@':
			class = "place"
		}
		list = append(list, diffLine{class, strings.TrimRight(l, "\n")})
	}
	return list
}

// channelNames are the names of all channels.
func channelNames() []string {
	var list []string
	for c := sotto.ChannelText; c <= sotto.ChannelMarkup; c++ {
		list = append(list, c.String())
	}
	return list
}

// given is a parameter that fits into the facts of an exchange.
type given struct{ Name, Value string }

// maxGiven is how long the value of a parameter may be to be among the facts.
const maxGiven = 32

// givenBy returns the short parameters of an exchange.
func givenBy(x *view.Exchange) (list []given) {
	for _, p := range x.Parameters {
		if n := len(p.Value.Text); n > 0 && n <= maxGiven && !p.Value.Cut && len(list) < 12 {
			list = append(list, given{p.Name, string(p.Value.Text)})
		}
	}
	return list
}

// indented prints JSON on several lines, or a text as it is.
func indented(t record.Text) string {
	var b bytes.Buffer
	if json.Indent(&b, []byte(t), "", "  ") != nil || b.Len() > 4*len(t)+1024 {
		return string(t)
	}
	return b.String()
}

// otherIDs returns the identifiers of an exchange that are shown nowhere else.
func otherIDs(x *view.Exchange) map[string]string {
	others := map[string]string{}
	for name, value := range x.IDs {
		if value != x.Session && value != x.Trace {
			others[name] = value
		}
	}
	return others
}
