package main

import (
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Constant is a number of the model, with where it comes from.
type Constant struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	From  string  `json:"from"`
}

// measured.json and together.json come from the load tool (-case constants, together), batch.json from the
// commands that the file names, lengths.json from published replies. assumed.json
// says what you would change for a workload, machine and price list of your own.
//
//go:embed measured.json together.json batch.json assumed.json lengths.json
var files embed.FS

// Inputs are all constants and the lengths of replies.
type Inputs struct {
	Measured, Assumed []Constant
	Together          []Constant // a run that the model predicts
	Lengths           Lengths
	From              string // of the lengths

	values map[string]float64
}

// ReadInputs reads the files, and changes constants as the settings NAME=VALUE say.
func ReadInputs(settings ...string) (*Inputs, error) {
	in := &Inputs{values: map[string]float64{}}
	for _, f := range []struct {
		name string
		to   *[]Constant
	}{{"measured.json", &in.Measured}, {"together.json", &in.Together}, {"batch.json", &in.Measured}, {"assumed.json", &in.Assumed}} {
		var list []Constant
		if err := decode(f.name, &list); err != nil {
			return nil, err
		}
		for _, c := range list {
			if _, twice := in.values[c.Name]; twice {
				return nil, fmt.Errorf("%s: %s is there twice", f.name, c.Name)
			}
			in.values[c.Name] = c.Value
		}
		*f.to = append(*f.to, list...)
	}
	var lengths struct {
		From      string
		Quantiles []float64
	}
	if err := decode("lengths.json", &lengths); err != nil {
		return nil, err
	}
	in.Lengths, in.From = lengths.Quantiles, lengths.From
	for _, s := range settings {
		name, text, _ := strings.Cut(s, "=")
		value, err := strconv.ParseFloat(text, 64)
		if _, known := in.values[name]; err != nil || !known {
			return nil, fmt.Errorf("%q: want the name of a constant, and a number", s)
		}
		in.values[name] = value
	}
	return in, nil
}

func decode(name string, to any) error {
	data, err := files.ReadFile(name)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, to); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// Get returns a constant. A name that no file has is a mistake of this program.
func (in *Inputs) Get(name string) float64 {
	v, ok := in.values[name]
	if !ok {
		panic("no constant is called " + name)
	}
	return v
}

// Lengths are the lengths of replies in bytes, as equally spaced quantiles from the
// shortest to the longest. Between them the quantile function is linear.
type Lengths []float64

// At returns the quantile of p.
func (l Lengths) At(p float64) float64 {
	x := p * float64(len(l)-1)
	i := min(int(x), len(l)-2)
	return l[i] + (x-float64(i))*(l[i+1]-l[i])
}

// Mean returns the mean.
func (l Lengths) Mean() float64 { return (sum(l) - (l[0]+l[len(l)-1])/2) / float64(len(l)-1) }

// Held returns how much of its reply a stream under way has brought, on average: half
// of what replies have that are met under way, which is more than the mean, because
// long ones are met more often.
func (l Lengths) Held() float64 {
	squares := 0.0
	for i, a := range l[:len(l)-1] {
		b := l[i+1]
		squares += (a*a + a*b + b*b) / 3
	}
	return squares / float64(len(l)-1) / l.Mean() / 2
}

// Restarted returns how much longer streams under way last if all of them begin again, when as
// much as a length has come: the share of those that are then open, and would have
// ended. It is x·P(L>x)/E[L], because a stream is under way with a probability in
// proportion to its length.
func (l Lengths) Restarted(length float64) float64 { return length * l.Over(length) / l.Mean() }

// MostRestarted returns the largest value of Restarted up to a length.
func (l Lengths) MostRestarted(length float64) (most float64) {
	const steps = 1000
	for i := range steps + 1 {
		most = max(most, l.Restarted(length*float64(i)/steps))
	}
	return most
}

func sum(list []float64) (all float64) {
	for _, v := range list {
		all += v
	}
	return all
}

// Over returns how many replies are longer than a length.
func (l Lengths) Over(length float64) float64 {
	i, _ := slices.BinarySearch(l, length)
	switch i {
	case 0:
		return 1
	case len(l):
		return 0
	}
	return 1 - (float64(i-1)+(length-l[i-1])/(l[i]-l[i-1]))/float64(len(l)-1)
}

// Left returns how many of the replies that are under way at one moment still have
// more than a length to come: the integral of Over beyond the length, divided by
// the mean.
func (l Lengths) Left(length float64) float64 {
	const steps = 4000
	most := l[len(l)-1]
	if length >= most {
		return 0
	}
	width, all := (most-length)/steps, 0.0
	for i := range steps {
		all += l.Over(length+(float64(i)+0.5)*width) * width
	}
	return all / l.Mean()
}
