package main

import (
	"math/rand/v2"
	"slices"
)

// A Simulated fleet is what came out of streams that arrive, last and end one by one.
type Simulated struct {
	Open    float64 // mean
	Peak    float64 // exceeded in a thousandth of the seconds
	Lasts   float64 // mean seconds of a stream
	Busy    float64 // share of the cores
	Puts    float64 // a second
	Killed  float64 // streams that broke when a replica was killed
	After   float64 // open streams of the fullest other replica, beside what one takes
	Backlog float64 // seconds of work that waited at most at one replica, when the broken streams came again
	Rolling float64 // share of the streams under way that a rolling update broke
}

// An event of the simulation: a stream ends, or a client asks again.
type event struct {
	at      float64
	stream  int // that ends
	retries float64
}

// events are a heap, the next one first. (container/heap would make garbage of each.)
type events []event

func (h *events) push(e event) {
	*h = append(*h, e)
	list := *h
	i := len(list) - 1
	for i > 0 && list[(i-1)/2].at > e.at {
		list[i] = list[(i-1)/2]
		i = (i - 1) / 2
	}
	list[i] = e
}

func (h *events) pop() event {
	list := *h
	first, last := list[0], len(list)-1
	list[0] = list[last]
	*h = list[:last]
	h.sink()
	return first
}

// sink puts the first event, which has changed, where it belongs.
func (h *events) sink() {
	list := *h
	if len(list) == 0 {
		return
	}
	e, i := list[0], 0
	for 2*i+1 < len(list) {
		next := 2*i + 1
		if next+1 < len(list) && list[next+1].at < list[next].at {
			next++
		}
		if list[next].at >= e.at {
			break
		}
		list[i] = list[next]
		i = next
	}
	list[i] = e
}

// A stream; on is -1 after it ended or broke.
type stream struct {
	on     int
	length float64
}

type fleet struct {
	in      *Inputs
	costs   costsOf
	rng     *rand.Rand
	rate    float64 // of arrivals
	now     float64
	next    float64 // arrival
	events  events
	streams []stream
	free    []int // of streams that have ended
	open    []int // streams of each replica
	takes   []bool
	work    []float64 // seconds that wait for a core of each replica
	since   []float64 // when that was so
	spare   float64   // cores that frames leave to requests
	total   int
	cpu     float64 // seconds
	puts    int
	ended   int
	lasted  float64
	most    float64 // of work
}

// costsOf are the constants that each stream needs.
type costsOf struct{ first, second, frame, stream, fixed, byte, prompt, remembered, put float64 }

func costsFrom(in *Inputs) costsOf {
	g := in.Get
	return costsOf{
		first: g("first"), second: g("pace") * g("frame_text"), frame: g("cpu_frame_full") / g("frame_text"),
		stream: g("cpu_stream"), fixed: g("cpu_record_reply"), byte: g("cpu_record_byte"), prompt: g("prompt"),
		remembered: g("remembered"), put: g("cpu_put"),
	}
}

// takes is how long a stream is open.
func (c *costsOf) takes(length float64) float64 { return c.first + length/c.second }

// Simulate lets streams arrive at the rate of the busy minutes, at the replicas of a
// plan, each at the one with the least connections. One replica is killed, and three
// are updated.
func Simulate(in *Inputs, plan *Fleet, seed uint64) (s Simulated) {
	mean := plan.Streams * in.Get("burst")
	f := &fleet{in: in, costs: costsFrom(in), rng: rand.New(rand.NewPCG(seed, 1)), rate: mean / plan.Lasts}
	n := int(plan.Replicas)
	f.open, f.takes, f.work, f.since = make([]int, n), make([]bool, n), make([]float64, n), make([]float64, n)
	for i := range f.takes {
		f.takes[i] = true
	}
	perStream := in.Get("pace") * sending(in) * in.Get("cpu_frame_full")
	f.spare = max(in.Get("cores")-mean/plan.Replicas*perStream, 0.01)
	f.settle(mean)
	f.steady(plan, &s)
	f.kill(plan, perStream, &s)
	f.roll(&s)
	return s
}

// settle begins with streams that are under way: a long reply is met more often, and at
// any point of it.
func (f *fleet) settle(mean float64) {
	longest := f.costs.takes(f.in.Lengths.At(1))
	for f.total < int(mean) {
		length := f.in.Lengths.At(f.rng.Float64())
		takes := f.costs.takes(length)
		if f.rng.Float64() < takes/longest {
			f.begin(length, takes*f.rng.Float64())
		}
	}
	f.next = f.rng.ExpFloat64() / f.rate
	f.cpu, f.puts, f.most = 0, 0, 0
}

// begin sends a stream to the replica with the least connections.
func (f *fleet) begin(length, takes float64) {
	least := -1
	from := f.rng.IntN(len(f.open)) // so that equal ones share
	for i := range f.open {
		if r := (from + i) % len(f.open); f.takes[r] && (least < 0 || f.open[r] < f.open[least]) {
			least = r
		}
	}
	id := len(f.streams)
	if n := len(f.free); n > 0 {
		id, f.free = f.free[n-1], f.free[:n-1]
		f.streams[id] = stream{least, length}
	} else {
		f.streams = append(f.streams, stream{least, length})
	}
	f.open[least]++
	f.total++
	f.events.push(event{at: f.now + takes, stream: id})
	once := f.once(length)
	f.cpu += once + length*f.costs.frame
	f.work[least] = max(f.work[least]-(f.now-f.since[least])*f.spare, 0) + once
	f.since[least] = f.now
	f.most = max(f.most, f.work[least]/f.spare)
}

// once is the processor time of a stream beside its frames.
func (f *fleet) once(length float64) float64 {
	once := f.costs.stream + f.costs.fixed + f.costs.byte*(length+f.costs.prompt)
	if f.rng.Float64() < f.costs.remembered {
		f.puts++
		once += f.costs.put
	}
	return once
}

func (f *fleet) arrive(length float64) {
	takes := f.costs.takes(length)
	f.ended++
	f.lasted += takes
	f.begin(length, takes)
}

// until runs to a time, and calls each second.
func (f *fleet) until(end float64, each func()) {
	second := f.now + 1
	for {
		at := f.next
		if len(f.events) > 0 {
			at = min(at, f.events[0].at)
		}
		if second < min(at, end) {
			each()
			second++
			continue
		}
		if at > end {
			f.now = end
			return
		}
		f.now = at
		if at == f.next {
			f.arrive(f.in.Lengths.At(f.rng.Float64()))
			f.next = f.now + f.rng.ExpFloat64()/f.rate
			continue
		}
		e := f.events.pop()
		if e.retries > 0 {
			f.arrive(e.retries)
			continue
		}
		if r := f.streams[e.stream].on; r >= 0 {
			f.open[r]--
			f.total--
			f.streams[e.stream].on = -1
		}
		f.free = append(f.free, e.stream)
	}
}

// fullest returns the most streams of a replica that takes streams.
func (f *fleet) fullest() (most int) {
	for r, n := range f.open {
		if f.takes[r] {
			most = max(most, n)
		}
	}
	return most
}

// steady measures ten minutes.
func (f *fleet) steady(plan *Fleet, s *Simulated) {
	const lasts = 600
	var open []float64
	f.until(f.now+lasts, func() { open = append(open, float64(f.total)) })
	s.Open = sum(open) / float64(len(open))
	slices.Sort(open)
	s.Peak = open[len(open)*999/1000]
	s.Lasts = f.lasted / float64(f.ended)
	s.Busy = f.cpu / lasts / (plan.Replicas * f.in.Get("cores"))
	s.Puts = float64(f.puts) / lasts
}

// kill loses a replica. Its clients ask again within two seconds, for the whole reply.
func (f *fleet) kill(plan *Fleet, perStream float64, s *Simulated) {
	s.Killed = float64(f.lose(0))
	f.most = 0
	f.spare = max(f.in.Get("cores")-float64(f.total)/(plan.Replicas-1)*perStream, 0.01)
	f.until(f.now+watched, func() { s.After = max(s.After, float64(f.fullest())/plan.Each) })
	s.Backlog = f.most
	f.takes[0] = true
	f.until(f.now+600, func() {})
}

// lose breaks the streams of a replica, whose clients ask again within some seconds.
func (f *fleet) lose(r int) (broken int) {
	f.takes[r] = false
	for i := range f.streams {
		if f.streams[i].on == r {
			broken++
			f.streams[i].on = -1
			f.events.push(event{at: f.now + again*f.rng.Float64(), retries: f.streams[i].length})
		}
	}
	f.open[r] = 0
	f.total -= broken
	return broken
}

// roll updates three replicas: each takes no more streams, and what is left after the
// wait breaks.
func (f *fleet) roll(s *Simulated) {
	had, broke := 0, 0
	for r := range min(3, len(f.open)) {
		f.takes[r] = false
		had += f.open[r]
		f.until(f.now+f.in.Get("shutdown_wait"), func() {})
		broke += f.lose(r)
		f.takes[r] = true
		f.until(f.now+600, func() {}) // until it has its share again
	}
	s.Rolling = float64(broke) / float64(had)
}

// SimulateFrames serves the frames of n streams on the cores of one gateway, in the
// order of their arrival. It returns how long they wait: the mean, and the 99th
// percentile.
func SimulateFrames(in *Inputs, n int, seed uint64) (mean, p99 float64) {
	rng := rand.New(rand.NewPCG(seed, 2))
	period, service := 1/in.Get("pace"), in.Get("cpu_frame_full")
	var next events
	for i := range n {
		next.push(event{at: rng.Float64() * period, stream: i})
	}
	cores := make([]float64, int(in.Get("cores"))) // when each is free
	var waits []float64
	for len(waits) < 400_000 {
		e := &next[0]
		first := 0
		for i := range cores {
			if cores[i] < cores[first] {
				first = i
			}
		}
		begin := max(e.at, cores[first])
		waits = append(waits, begin-e.at)
		cores[first] = begin + service
		e.at += period * (0.5 + rng.Float64()) // models are not metronomes
		next.sink()
	}
	waits = waits[len(waits)/4:]
	slices.Sort(waits)
	return sum(waits) / float64(len(waits)), waits[len(waits)*99/100]
}
