package report

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Ticks are 1, 2 or 5 times a power of 10 apart, at most so many, and reach the
// greatest value.
func TestTicks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most, n := rapid.Float64Range(1e-6, 1e12).Draw(t, "most"), rapid.IntRange(1, 12).Draw(t, "n")
		list := Ticks(most, n, "")
		step := Step(most, n)
		lead := step / math.Pow(10, math.Floor(math.Log10(step)+1e-9))
		if d := math.Abs(lead-1) * math.Abs(lead-2) * math.Abs(lead-5) * math.Abs(lead-10); d > 1e-6 {
			t.Fatalf("step %v", step)
		}
		if len(list) > n+1 || list[0].Value != 0 || list[len(list)-1].Value < most*(1-1e-6) || len(list) > 1 && list[len(list)-2].Value > most {
			t.Fatalf("%v: %v", most, list)
		}
	})
	for _, most := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if Step(most, 5) != 1 {
			t.Errorf("%v: %v", most, Step(most, 5))
		}
	}
}

// The labels of axes are short and have units. What was 45.2 and 90.5 is 50 and 100.
func TestTickLabels(t *testing.T) {
	labels := func(list []Tick) string {
		var all []string
		for _, tick := range list {
			all = append(all, tick.Label)
		}
		return strings.Join(all, ", ")
	}
	for got, want := range map[string]string{
		labels(Ticks(181, 5, "")): "0, 50, 100, 150, 200", labels(Ticks(100, 5, " %")): "0 %, 20 %, 40 %, 60 %, 80 %, 100 %", labels(Ticks(0.35, 5, "")): "0.0, 0.1, 0.2, 0.3, 0.4",
		labels(Ticks(38_000, 5, "")):              "0, 10 k, 20 k, 30 k, 40 k",
		labels(TimeTicks(11*time.Millisecond, 6)): "0 ms, 2 ms, 4 ms, 6 ms, 8 ms, 10 ms", labels(TimeTicks(3500*time.Millisecond, 6)): "0 s, 1 s, 2 s, 3 s", labels(TimeTicks(9*time.Minute, 6)): "0 min, 2 min, 4 min, 6 min, 8 min",
		labels(TimeTicks(0, 6)): "0 ms", labels(TimeTicks(time.Millisecond, 6)): "0 ms, 1 ms", labels(WholeTicks(1, 5, "")): "0, 1", labels(WholeTicks(2, 5, "")): "0, 1, 2", labels(WholeTicks(7, 5, "")): "0, 2, 4, 6, 8",
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	drawn := string(Series([]Line{{Name: "a", Points: []float64{0, 90.5, 181}}}, 0, "", 1))
	if !strings.Contains(drawn, ">50<") || strings.Contains(drawn, "45.2") {
		t.Error(drawn)
	}
	// Counts have whole ticks, each once, and one value is seen.
	drawn = string(Series([]Line{{Name: "a", Points: []float64{1}}}, 0, "", 1))
	if strings.Contains(drawn, "0.4") || strings.Count(drawn, ">1<") != 2 || !strings.Contains(drawn, "<circle") {
		t.Error(drawn)
	}
}

// The names of rows are within the drawing, also those that have wide characters only.
func TestWideNames(t *testing.T) {
	narrow, wide := widthOf("illi"), widthOf("WWWW")
	if narrow >= wide || wide < 4*9 {
		t.Errorf("%v and %v", narrow, wide)
	}
	long := (&Dots{Rows: []Dot{{Name: "mmmmmmmmmmmmmmmmmmmm"}}}).Draw().Wide
	if short := (&Dots{Rows: []Dot{{Name: "iiiiiiiiiiiiiiiiiiii"}}}).Draw().Wide; long <= short {
		t.Errorf("%v wide with wide names, %v with narrow ones", long, short)
	}
}
