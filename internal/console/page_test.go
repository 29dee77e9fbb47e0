package console

import (
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/console/explore"
	"github.com/sotto-llm/sotto/internal/console/peers"
	"github.com/sotto-llm/sotto/internal/console/view"
	"github.com/sotto-llm/sotto/internal/lab/report"
)

// pageFiles are the templates of all pages.
func pageFiles(t *testing.T) []string {
	t.Helper()
	own, err := filepath.Glob("templates/*.html")
	if err != nil {
		t.Fatal(err)
	}
	others, err := filepath.Glob("../lab/screens/templates/*.html")
	if err != nil || len(own) < 10 || len(others) < 8 {
		t.Fatalf("%d and %d templates: %v", len(own), len(others), err)
	}
	return append(own, others...)
}

// Every text of the page is in the table of words, and every word of the table is
// used.
func TestWords(t *testing.T) {
	used := map[string]bool{}
	quoted := regexp.MustCompile(`(?:\bw |\bn [^{}]*?|Word\()"([a-z.]+)"`)
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	others, err := filepath.Glob("../lab/screens/*.go")
	if err != nil || len(others) < 4 {
		t.Fatalf("the screens of experiments are in %d files: %v", len(others), err)
	}
	sources = append(sources, others...)
	sources = slices.DeleteFunc(sources, func(name string) bool { return strings.HasSuffix(name, "_test.go") })
	pages := pageFiles(t)
	sources = append(sources, pages...)
	for _, name := range sources {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range quoted.FindAllStringSubmatch(string(data), -1) {
			used[m[1]] = true
		}
		for _, m := range regexp.MustCompile(`"(error\.[a-z]+)"`).FindAllStringSubmatch(string(data), -1) {
			used[m[1]], used[m[1]+".do"] = true, true
		}
	}
	for _, s := range screens() {
		used["screen."+s.Path] = true
	}
	for _, path := range []string{"runs", "sessions", "memory", "studies", "evaluation"} { // of package lab
		used["screen."+path] = true
	}
	for _, m := range explore.Measures() {
		used["measure."+string(m)], used["says."+string(m)] = true, true
		used["says."+string(m)+".none"] = m.Share()
		for _, k := range m.Keys() {
			used["by."+string(k)] = true
		}
	}
	for _, k := range append(view.SortKeys(), "time") {
		used[orderName(string(k))] = true
	}
	for _, s := range []peers.State{peers.Silent, peers.Away, peers.Refused, peers.Busy, peers.Failed, peers.Sealed} {
		used["gateways."+string(s)], used["wrong."+string(s)] = true, s != peers.Sealed // a record that is encrypted has a health
	}
	for _, name := range []string{"lead.memory", "lead.memory.least", "study.list"} { // of package screens
		used[name] = true
	}
	for _, k := range mostOf {
		used["most."+string(k)] = true
	}
	for name, is := range used {
		if _, ok := words[name]; !is {
			delete(used, name)
		} else if !ok && !strings.HasSuffix(name, ".") {
			t.Errorf("there is no text %q", name)
		}
	}
	for name := range words {
		if !used[name] {
			t.Errorf("the text %q is not used", name)
		}
	}
	// What a template says in words of its own is in the table instead.
	own := regexp.MustCompile(`>[^<{]*[a-z]{3,}[^<{]*<`)
	for _, name := range pages {
		data, _ := os.ReadFile(name)
		text := regexp.MustCompile(`(?s)\{\{.*?\}\}`).ReplaceAllString(string(data), "")
		for _, found := range own.FindAllString(text, -1) {
			if !strings.Contains("outside inside auto enter", strings.Trim(found, "<> \n")) {
				t.Errorf("%s says %s", name, found)
			}
		}
	}
}

// No attribute's name makes html/template take a word for a script, which it would
// quote: data-on is to it what onclick is.
func TestAttributes(t *testing.T) {
	for _, name := range pageFiles(t) {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if found := regexp.MustCompile(`\s(data-)?on\w*=`).Find(data); found != nil {
			t.Errorf("%s has%s", name, found)
		}
	}
}

// The contrast between text and its background is at least 4.5, in the light and in the
// dark palette. That of shapes is at least 3.
func TestContrast(t *testing.T) {
	colours := map[string][2]string{}
	for _, m := range regexp.MustCompile(`--([a-z-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)`).FindAllStringSubmatch(allStyles(), -1) {
		colours[m[1]] = [2]string{m[2], m[3]}
	}
	if len(colours) < 17 {
		t.Fatalf("%d colours", len(colours))
	}
	pairs := [][2]string{
		{"on-accent", "accent"}, {"markup", "markup-paper"}, {"reasoning", "reasoning-paper"}, {"paper", "markup"},
	}
	for _, text := range []string{"text", "dim", "accent", "reasoning", "narration", "tool", "aside", "markup", "good", "warn", "bad"} {
		pairs = append(pairs, [2]string{text, "paper"}, [2]string{text, "raised"})
	}
	for _, p := range pairs {
		for i, mode := range []string{"light", "dark"} {
			if c := contrast(t, colours[p[0]][i], colours[p[1]][i]); c < 4.5 {
				t.Errorf("%s on %s, %s: %.2f", p[0], p[1], mode, c)
			}
		}
	}
	if hex := regexp.MustCompile(`#[0-9a-fA-F]{3,8}\b`).FindAllString(strings.SplitN(allStyles(), "--mono", 2)[1], -1); len(hex) > 0 {
		t.Errorf("colours outside the palette: %v", hex)
	}
}

// A channel has the same colour on the pages of sotto score and sotto solve.
func TestOnePalette(t *testing.T) {
	pages := string(report.Style())
	for _, channel := range []string{"reasoning", "narration", "tool", "aside", "markup"} {
		m := regexp.MustCompile(`--` + channel + `: light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)`).FindStringSubmatch(allStyles())
		found := regexp.MustCompile(`--`+channel+`: (#[0-9a-f]{6})`).FindAllStringSubmatch(pages, -1)
		if m == nil || len(found) != 2 || found[0][1] != m[1] || found[1][1] != m[2] || !strings.Contains(pages, "."+channel+" { color: var(--"+channel+")") {
			t.Errorf("%s is %v here, and %v on the other pages", channel, m, found)
		}
	}
}

// contrast is that of WCAG 2.
func contrast(t *testing.T, a, b string) float64 {
	x, y := luminance(t, a), luminance(t, b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, err := strconv.ParseUint(hex[1+2*i:3+2*i], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		c := float64(n) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}

// Numbers, sizes and times are short and have units.
func TestFigures(t *testing.T) {
	for got, want := range map[string]string{
		size(0): "0 B", size(999): "999 B", size(1000): "1.0 kB", size(999_999): "1000 kB", size(1_000_000): "1.0 MB", size(999_999_999): "1000 MB", size(1_000_000_000): "1.0 GB", size(1200): "1.2 kB", size(12_345): "12 kB", size(9_960): "10 kB", size(52_428_800): "52 MB", size(3_000_000_000): "3.0 GB",
		number(1234): "1234", number(12345): "12\u202f345", number(1234567): "1\u202f234\u202f567", number(-12345): "-12\u202f345",
		millis(0): "0 ms", millis(999): "999 ms", millis(3610): "3.61 s", millis(125_000): "2m5s",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// allStyles are the style sheets of all pages.
func allStyles() string {
	style := newLook(nil, nil).style
	names, _ := filepath.Glob("../lab/screens/assets/*.css")
	for _, name := range names {
		data, _ := os.ReadFile(name)
		style += string(data)
	}
	return style + report.FigureRules()
}
