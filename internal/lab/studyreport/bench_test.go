package studyreport

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/lab/study"
	"github.com/sotto-llm/sotto/internal/lab/studyreport/studytest"
)

// BenchmarkReport makes the whole report of a study of 20 streams: reading, tables,
// page, pictures and CSV. Each line carries a raw reply of 2 kB, as those of sotto
// solve -o do.
func BenchmarkReport(b *testing.B) {
	for _, problems := range []int{10_000, 100_000} {
		b.Run(fmt.Sprintf("%d problems", problems), func(b *testing.B) {
			dir := b.TempDir()
			m := studytest.Streams(b, dir, studytest.Grid{Models: []string{"a", "b"}, Modes: []string{"io", "template"}, Repetitions: 5, Size: problems / 20})
			raw := []byte(`{"raw":"` + strings.Repeat(`<think>4 * 6 = 24\n`, 110) + `",`)
			var size int64
			for _, c := range m.Cells {
				name := study.StreamFile(dir, c.ID)
				data, err := os.ReadFile(name)
				if err != nil {
					b.Fatal(err)
				}
				data = bytes.ReplaceAll(data, []byte(`{"v":1,"type":"problem"`), append(bytes.Clone(raw), `"v":1,"type":"problem"`...))
				if err := os.WriteFile(name, data, 0o600); err != nil {
					b.Fatal(err)
				}
				size += int64(len(data))
			}
			b.SetBytes(size)
			b.ReportAllocs()
			for b.Loop() {
				r, err := Build(b.Context(), dir, Options{})
				if err != nil {
					b.Fatal(err)
				}
				if _, err := r.Page(); err != nil {
					b.Fatal(err)
				}
				if _, err := r.CSV(); err != nil {
					b.Fatal(err)
				}
				if n := r.Groups[0].Solved.Of; n != problems/4 {
					b.Fatalf("%d problems", n)
				}
			}
		})
	}
}
