package cli

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/cli/shell"
)

// TestSummaryIsTheSameInAnyOrder shuffles the lines.
func TestSummaryIsTheSameInAnyOrder(t *testing.T) {
	lines := gameLines(3000)
	args := []string{"score", "--task", "game24", "--jsonl", "--json", "--k", "--by-field", "arm", "--logged-field", "logged"}
	report, _, _ := runSotto(t, strings.Join(lines, "\n"), args...)
	rng := rand.New(rand.NewPCG(3, 4))
	for range 5 {
		rng.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
		if again, _, _ := runSotto(t, strings.Join(lines, "\n"), args...); lastLine(again) != lastLine(report) {
			t.Fatalf("the summary is\n%s, was\n%s", lastLine(again), lastLine(report))
		}
	}
}

// TestPage reads the page as a strict browser would.
func TestPage(t *testing.T) {
	hostile := `{"id":"<script>alert(1)</script>","input":"1 2 3 4 \"><img src=x onerror=y>","arm":"</svg><script>","raw":"<think>if a < b & c</think>Answer: </pre><script src='http://e.example/x.js'></script> \u202e\u001b[31m"}`
	lines := strings.Join(append([]string{hostile, hostile}, gameLines(200)...), "\n")
	name := filepath.Join(t.TempDir(), "page.html")
	_, report, _ := runSotto(t, lines, "score", "--task", "game24", "--jsonl", "--html", name, "--by-field", "arm", "--logged-field", "logged")
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err, report)
	}
	wellFormed(t, string(data))
	for _, bad := range []string{"<script", "<img", "src=", "href=", "url(", "@import", " on", "\x1b", "\u202e"} {
		if i := strings.Index(tagsOf(string(data)), bad); i >= 0 {
			t.Errorf("the page holds %q", bad)
		}
	}
	style := regexp.MustCompile(`(?s)<style>(.*)</style>`).FindSubmatch(data)
	sum := sha256.Sum256(style[1])
	policy := regexp.MustCompile(`content="(default-src[^"]*)"`).FindSubmatch(data)
	if hash := base64.StdEncoding.EncodeToString(sum[:]); !strings.Contains(strings.ReplaceAll(string(policy[1]), "&#43;", "+"), hash) {
		t.Errorf("the policy %s does not allow the style %s", policy[1], hash)
	}
	for _, want := range []string{`<span class="reasoning">if a &lt; b &amp; c</span>`, `class="text candidate"`, "<polyline", "Best of k"} {
		if !strings.Contains(string(data), want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}

// tagsOf returns the tags of a page, and every byte outside them that would act as
// markup.
func tagsOf(page string) string {
	return strings.Join(regexp.MustCompile(`<[^>]*>|[\x00-\x08\x0e-\x1f\x{202a}-\x{202e}]`).FindAllString(page, -1), "\n")
}

func wellFormed(t *testing.T, page string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(strings.Replace(page, "<!DOCTYPE html>", "", 1)))
	d.Strict, d.AutoClose, d.Entity = false, []string{"meta"}, xml.HTMLEntity
	var open []string
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			open = append(open, token.Name.Local)
		case xml.EndElement:
			if n := len(open); n == 0 || open[n-1] != token.Name.Local {
				t.Fatalf("</%s> closes %v", token.Name.Local, open)
			}
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		t.Fatalf("%v is not closed", open)
	}
}

// BenchmarkScore judges lines of ordinary replies on one core.
func BenchmarkScore(b *testing.B) {
	text := strings.Join(notBroken(gameLines(20000)), "\n")
	text = strings.ReplaceAll(text, `"input":"3 8 1 `, `"input":"3 8 1 `)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if status := Run([]string{"score", "--task", "game24", "--jsonl"}, strings.NewReader(text), io.Discard, io.Discard, noEnv); status == shell.StatusUsage {
			b.Fatal(status)
		}
	}
}
