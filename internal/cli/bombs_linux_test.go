package cli

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"

	"github.com/sotto-llm/sotto/internal/base/effort"
)

// peakVariable names the file into which a process of these tests writes the peak of its
// resident memory when it ends. The kernel's own figure for a child, ru_maxrss, has the
// memory of the process that started it too.
const peakVariable = "SOTTO_TEST_PEAK"

func init() { mainForMemory = mainWithPeak }

// mainWithPeak is the command line for tests of memory.
func mainWithPeak() {
	status := Main()
	if name := os.Getenv(peakVariable); name != "" {
		if text, err := os.ReadFile("/proc/self/status"); err == nil {
			_, after, _ := strings.Cut(string(text), "VmHWM:")
			os.WriteFile(name, []byte(strings.Fields(after)[0]), 0o600)
		}
	}
	os.Exit(status)
}

// mostPeak is the most resident memory that a command may take for any input with the
// default bounds, in MiB.
const mostPeak = 300

// A part of a bomb is a text several times.
type part struct {
	text  string
	times int
}

// A bomb is a small file that a reader without bounds could not read in this memory.
type bomb struct {
	format string
	parts  []part
	rest   string // in the output or the errors: what comes after the bomb is read
}

const (
	mib      = 1 << 20
	bombSize = 150 // MiB
)

var (
	goodLine = `{"id":"g","raw":"<think>a</think>Answer: 5","gold":"5","input":"5","problem":"5"}` + "\n"
	huge     = strings.Repeat("a", mib)
)

func bombs() map[string]bomb {
	long := part{huge, bombSize} // more than twice the bound
	return map[string]bomb{
		"line":   {"zstd", []part{{goodLine, 1}, long, {"\n", 1}, {goodLine, 1}}, "line 2: longer than 64MiB, from byte " + strconv.Itoa(len(goodLine)) + " on"},
		"gzip":   {"gzip", []part{{goodLine, 1}, long, {"\n", 1}, {goodLine, 1}}, "line 2: longer than 64MiB"},
		"member": {"zstd", []part{{goodLine, 1}, {`{"raw":"`, 1}, long, {`"}` + "\n", 1}, {goodLine, 1}}, "line 2: longer than 64MiB"},
		"below":  {"zstd", []part{{`{"raw":"<think>`, 1}, {huge, 30}, {`</think>`, 1}, {huge, 30}, {`","gold":"5"}` + "\n", 1}, {goodLine, 1}}, ""},
		"deep":   {"zstd", []part{{goodLine, 1}, {`{"raw":`, 1}, {strings.Repeat("[", mib), 60}, {"\n", 1}, {goodLine, 1}}, "nest"},
		"array":  {"zstd", []part{{`[` + strings.TrimSpace(goodLine) + `,{"raw":"`, 1}, {huge, 70}, {`"},` + goodLine + "]", 1}}, "element 2: longer than 64MiB"},
		"csv":    {"zstd", []part{{"id,raw,gold\n1,\"Answer: 5\",5\n2,\"", 1}, long, {"\",5\n3,\"Answer: 5\",5\n", 1}}, "longer than 64MiB"},
	}
}

// write writes the bomb to a file, whose name it returns.
func (b *bomb) write(t *testing.T, name string) string {
	t.Helper()
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var w io.WriteCloser
	if b.format == "gzip" {
		w, err = gzip.NewWriterLevel(file, gzip.BestSpeed)
	} else {
		w, err = zstd.NewWriter(file, zstd.WithEncoderLevel(zstd.SpeedFastest))
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range b.parts {
		for range p.times {
			if _, err := io.WriteString(w, p.text); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return name
}

// peakOf runs a command, and returns its output, its status and the peak of its resident
// memory in MiB.
func peakOf(t *testing.T, args ...string) (out string, status, peak int) {
	t.Helper()
	name := t.TempDir() + "/peak"
	cmd := exec.Command("sotto-peak", args...)
	cmd.Env = append(os.Environ(), peakVariable+"="+name, "GOGC=100", "GOMEMLIMIT=")
	var text strings.Builder
	to := &headOnly{to: &text}
	cmd.Stdout, cmd.Stderr = to, to
	err := cmd.Run()
	if _, ended := err.(*exec.ExitError); err != nil && !ended {
		t.Fatal(err)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatalf("%q: %v\n%s", args, err, &text)
	}
	kib, err := strconv.Atoi(string(data))
	if err != nil {
		t.Fatal(err)
	}
	return text.String(), cmd.ProcessState.ExitCode(), kib >> 10
}

// A headOnly keeps the beginning of each piece of an output.
type headOnly struct{ to *strings.Builder }

func (h *headOnly) Write(p []byte) (int, error) {
	h.to.Write(p[:min(len(p), 4096, max(0, mib-h.to.Len()))])
	return len(p), nil
}

// TestBombs: whatever a small file holds, each command that reads it stays within the
// memory. A record that is too long is an error with its place, the records after it are
// read, and the exit status is 1.
func TestBombs(t *testing.T) {
	if effort.Brief() {
		t.Skip("a process for each command and file: SOTTO_EFFORT=1 runs it")
	}
	t.Chdir(t.TempDir())
	files := map[string]string{}
	all := bombs()
	for name, b := range all {
		end := ".zst"
		if name == "csv" {
			end = ".csv.zst"
		}
		files[name] = b.write(t, name+end)
	}
	strip := []string{"strip", "--jsonl", "--field", "raw"}
	split, extract, score, leaks := []string{"split", "--jsonl"}, []string{"extract", "--task", "math", "--jsonl"}, []string{"score", "--task", "math", "--jsonl"}, []string{"leaks", "--field", "raw"}
	records := [][]string{strip, split, extract, score, leaks}
	for name, commands := range map[string][][]string{
		"line": records, "member": {strip}, "below": {strip, split, score, leaks}, "deep": {score, leaks}, "csv": {strip, leaks}, "array": {split}, "gzip": {extract},
	} {
		for _, command := range commands {
			if command[0] == "leaks" && name == "line" {
				command = []string{"leaks", "--input-format", "jsonl"}
			}
			out, status, peak := peakOf(t, append(command, files[name])...)
			want := 1
			if all[name].rest == "" {
				want = 0
			}
			if status != want || !strings.Contains(out, all[name].rest) || peak > mostPeak {
				t.Errorf("%s, %s: %d MiB, status %d:\n%.1000s", command[0], name, peak, status, out)
			}
			if command[0] != "leaks" && name != "below" && !strings.Contains(out, "Answer: 5") && !strings.Contains(out, `"candidate":"5"`) {
				t.Errorf("%s, %s: the good records are missing:\n%.1000s", command[0], name, out)
			}
			t.Logf("%s, %s: %d MiB", command[0], name, peak)
		}
	}
	for _, args := range [][]string{
		{"strip", files["line"]}, {"split", files["line"]}, {"extract", "--task", "math", files["line"]}, {"split", "--stream", files["line"]}, {"demo", files["line"]},
		{"dialects", "--detect", files["line"]}, {"record", "import", "--from", "contreact", "--record", "record", files["line"]}, {"solve", "--task", "exact", "--problems", files["line"], "--model", "scripted"},
		{"solve", "--task", "exact", "--mode", "cot", "--replies", files["line"]}, {"score", "--task", "math", "--jsonl", "--gold-file", files["line"], files["gzip"]}, {"solve", "report", files["line"]},
	} {
		out, status, peak := peakOf(t, args...)
		if status != 1 || peak > mostPeak || !strings.Contains(out, "onger than") && !strings.Contains(out, "larger than") && args[1] != "report" {
			t.Errorf("%q: %d MiB, status %d:\n%.1000s", args, peak, status, out)
		}
		t.Logf("%q: %d MiB", args[:2], peak)
	}
}

// TestParquetBombs: Parquet files with long values and with pages that need much memory
// stay within the bound too, in all compressions.
func TestParquetBombs(t *testing.T) {
	if effort.Brief() {
		t.Skip("a process for each file: SOTTO_EFFORT=1 runs it")
	}
	t.Chdir(t.TempDir())
	type row struct {
		Raw  string `parquet:"raw"`
		Gold string `parquet:"gold"`
	}
	long := strings.Repeat("a", 70*mib)
	for name, codec := range map[string]compress.Codec{"zstd": &parquet.Zstd, "gzip": &parquet.Gzip, "brotli": &parquet.Brotli, "lz4": &parquet.Lz4Raw, "snappy": &parquet.Snappy} {
		for what, rows := range map[string][]row{
			"value": {{"Answer: 5", "5"}, {long, "5"}, {"b", "5"}}, // the long value is not the smallest or the largest
			"below": {{"Answer: 5", "5"}, {"Hm. <think>" + long[:25*mib] + "</think>Answer: 5", "5"}, {"b", "5"}},
		} {
			file := fmt.Sprintf("%s-%s.parquet", what, name)
			f, err := os.Create(file)
			if err != nil {
				t.Fatal(err)
			}
			w := parquet.NewGenericWriter[row](f, parquet.Compression(codec), parquet.SkipPageBounds("raw"))
			if _, err := w.Write(rows); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			f.Close()
			for _, command := range [][]string{{"score", "--task", "math"}, {"leaks"}} {
				if name != "zstd" && command[0] == "leaks" {
					continue
				}
				out, status, peak := peakOf(t, append(command, file)...)
				if (status == 0) != (what == "below") || peak > mostPeak || what == "value" && !strings.Contains(out, "--max-line raises the bound") {
					t.Errorf("%s, %s: %d MiB, status %d:\n%.1000s", command[0], file, peak, status, out)
				}
				t.Logf("%s, %s: %d MiB", command[0], file, peak)
			}
		}
	}
}

// mostTable is the most resident memory, in MiB, that a command may take which writes the rows
// of usual records as Parquet, however many there are.
const mostTable = 150

// TestTableMemory writes rows of 1.4 KB as Parquet: from Parquet with one page for each column
// and row group, as many writers make it, and with small pages, and from JSON Lines.
func TestTableMemory(t *testing.T) {
	if effort.Brief() {
		t.Skip("files of some 60 MB: SOTTO_EFFORT=1 runs it")
	}
	t.Chdir(t.TempDir())
	type row struct {
		ID   int64  `parquet:"id" json:"id"`
		Raw  string `parquet:"raw" json:"raw"`
		Gold string `parquet:"gold" json:"gold"`
	}
	r := rand.New(rand.NewPCG(1, 2))
	rows := make([]row, 20_480)
	var lines bytes.Buffer
	for i := range rows {
		text := fmt.Appendf(nil, "<think>")
		for len(text) < 1380 {
			text = strconv.AppendUint(append(text, ' '), r.Uint64()>>(r.IntN(64)), 36)
		}
		rows[i] = row{int64(i), string(text) + "</think>It is \\boxed{42}.", "42"}
		line, err := json.Marshal(rows[i])
		if err != nil {
			t.Fatal(err)
		}
		lines.Write(append(line, '\n'))
	}
	groups := 2 * effort.Times()
	inputs := []string{"lines.jsonl"}
	if err := os.WriteFile(inputs[0], bytes.Repeat(lines.Bytes(), groups), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, page := range map[string]int{"large.parquet": 1 << 30, "small.parquet": 1 << 20} {
		f, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		w := parquet.NewGenericWriter[row](f, parquet.Compression(&parquet.Snappy), parquet.PageBufferSize(page))
		for range groups {
			if _, err := w.Write(rows); err != nil || w.Flush() != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		f.Close()
		inputs = append(inputs, name)
	}
	for _, input := range inputs {
		most := mostTable
		if input == "large.parquet" {
			most += 2 * 28 // the page, as it is read and as the library has it
		}
		for _, command := range [][]string{{"strip", "--field", "raw"}, {"score", "--task", "math"}} {
			out, status, peak := peakOf(t, append(command, "--jsonl", "-o", "out.parquet", input)...)
			if status != 0 || peak > most {
				t.Errorf("%s, %s: %d MiB, status %d:\n%.1000s", command[0], input, peak, status, out)
			}
			t.Logf("%s, %s: %d MiB", command[0], input, peak)
		}
	}
}
