package report

import (
	"math"
	"strconv"
	"time"
)

// A Tick is a place on an axis.
type Tick struct {
	Value float64
	Label string
}

// Step returns the round number (1, 2 or 5 times a power of 10) that divides 0 … most
// into at most n parts.
func Step(most float64, n int) float64 {
	if !(most > 0) || math.IsInf(most, 0) || n < 1 {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(most/float64(n))))
	for _, m := range []float64{1, 2, 5, 10} {
		if step := m * power; most/step <= float64(n)+1e-9 {
			return step
		}
	}
	return 10 * power
}

// Ticks returns round values from 0 to the first that is not below most, at most n
// parts. The unit follows each number.
func Ticks(most float64, n int, unit string) []Tick { return ticksBy(Step(most, n), most, n, unit) }

// WholeTicks are the ticks of what is counted: no part of one is a place on the axis.
func WholeTicks(most float64, n int, unit string) []Tick {
	return ticksBy(max(1, Step(most, n)), most, n, unit)
}

func ticksBy(step, most float64, n int, unit string) []Tick {
	var list []Tick
	for i := 0; i <= n; i++ {
		v := float64(i) * step
		list = append(list, Tick{v, figure(v, step) + unit})
		if v >= most-step*1e-9 {
			break
		}
	}
	return list
}

// figure prints a multiple of a step without more digits than the step has.
func figure(v, step float64) string {
	if v < 0 {
		return "-" + figure(-v, step)
	}
	digits := 0
	if step < 1 {
		digits = int(math.Ceil(-math.Log10(step) - 1e-9))
	}
	switch {
	case v >= 1e6 && step >= 1e5:
		return strconv.FormatFloat(v/1e6, 'f', -1, 64) + " M"
	case v >= 1e4 && step >= 1e2:
		return strconv.FormatFloat(v/1e3, 'f', -1, 64) + " k"
	}
	return strconv.FormatFloat(v, 'f', digits, 64)
}

// TimeTicks returns round times from 0 on, up to at most most, in milliseconds, with
// their labels. All have the same unit. A millisecond, in which times are measured, has no parts.
func TimeTicks(most time.Duration, n int) []Tick {
	unit, name := time.Millisecond, " ms"
	switch {
	case most >= 48*time.Hour:
		unit, name = 24*time.Hour, " d"
	case most >= 2*time.Hour:
		unit, name = time.Hour, " h"
	case most >= 2*time.Minute:
		unit, name = time.Minute, " min"
	case most >= time.Second:
		unit, name = time.Second, " s"
	}
	scale := float64(unit) / float64(time.Millisecond)
	span := float64(most) / float64(unit)
	step := Step(span, n)
	if unit == time.Millisecond {
		step = max(1, step)
	}
	var list []Tick
	for i := 0; i <= n; i++ {
		v := float64(i) * step
		if v > span {
			break
		}
		list = append(list, Tick{v * scale, figure(v, step) + name})
	}
	return list
}
