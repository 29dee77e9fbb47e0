package main

import (
	"math"
	"slices"
)

// A Need is what streams need of one resource of a gateway.
type Need struct {
	Resource string
	Each     float64 // of one stream
	Room     float64 // in one gateway, after what it needs without streams, up to the target
	Has      float64 // in all
}

// Streams is how many streams the resource suffices for.
func (n Need) Streams() float64 { return n.Room / n.Each }

// A Fleet is the closed-form answer for a number of streams.
type Fleet struct {
	Streams  float64 // on average in the busy minutes
	Peak     float64 // with bursts and chance
	Length   float64 // mean bytes of a reply
	Lasts    float64 // mean seconds of a stream
	Arrivals float64 // a second
	Needs    []Need  // the scarcest first
	Each     float64 // streams that one gateway takes
	Replicas float64

	CPU   float64 // cores that are busy on average
	Wait  float64 // mean seconds that a frame waits for a core, at the peak with one replica lost
	Store Store
	Bucket
	Record   float64 // bytes a second of the records
	Network  float64 // bytes a second in one direction, of all gateways
	Killed   float64 // streams that break if one replica is killed
	After    float64 // streams a minute later: those that broke begin again
	Busy     float64 // share of the cores in the busy minutes
	AfterCPU float64 // the same of the others, after one was killed
	Backlog  float64 // seconds of work that wait when the broken streams come again
	Rolling  float64 // share of streams that a rolling update breaks
	Costs    []Cost  // a month
}

// Store is what the shared state sees.
type Store struct {
	Puts, Gets, Bytes float64 // a second
	CPU               float64 // cores
	Memory            float64 // if no caller has more entries than it may
	Short             float64 // memory, if entries are kept no longer than a turn takes
	Callers           float64 // how many there must be, so that entries are there when the next turn needs them
	Nodes, ShortNodes float64
	By, ShortBy       string // what decides their number
}

// Bucket is what the object store sees, if records go there.
type Bucket struct {
	Writes, Sent float64 // a second
	Prefixes     float64
	Kept         float64 // bytes
}

// A Cost is dollars a month.
type Cost struct {
	What string
	USD  float64
}

// again is within how many seconds the clients of broken streams ask again.
const again = 2

// watched is how many seconds a simulation looks at the others after a kill.
const watched = 60

// Month is its hours.
const Month = 730

// streamCPU is the processor time that a stream needs a second.
func streamCPU(in *Inputs) float64 {
	return in.Get("pace")*sending(in)*in.Get("cpu_frame_full") + once(in)/lasts(in)
}

// once is the processor time of a stream beside its frames.
func once(in *Inputs) float64 {
	return in.Get("cpu_stream") + in.Get("remembered")*in.Get("cpu_put") +
		in.Get("cpu_record_reply") + in.Get("cpu_record_byte")*(in.Lengths.Mean()+in.Get("prompt"))
}

// lasts is how long a stream is open, and sending the share of that time in which
// frames come.
func lasts(in *Inputs) float64 { return in.Get("first") + duration(in, in.Lengths.Mean()) }
func sending(in *Inputs) float64 {
	return 1 - in.Get("first")/lasts(in)
}

// duration is how long the frames of a reply take.
func duration(in *Inputs, length float64) float64 {
	return length / in.Get("frame_text") / in.Get("pace")
}

// recordBytes are those of a reply's event.
func recordBytes(in *Inputs) float64 {
	return in.Get("record_reply") + in.Get("record_byte")*(in.Lengths.Mean()+in.Get("prompt"))
}

// Plan answers for a number of streams.
func Plan(in *Inputs, streams float64) *Fleet {
	f := &Fleet{Streams: streams, Length: in.Lengths.Mean(), Lasts: lasts(in)}
	f.Arrivals = streams / f.Lasts
	// With Poisson arrivals the number of open streams is Poisson, whatever the lengths
	// (M/G/∞); 3.09 deviations are exceeded one time in a thousand.
	mean := streams * in.Get("burst")
	f.Peak = mean + 3.09*math.Sqrt(mean)
	f.Needs = needs(in)
	slices.SortStableFunc(f.Needs, func(a, b Need) int {
		if a.Streams() < b.Streams() {
			return -1
		}
		return 1
	})
	f.Each = math.Floor(f.Needs[0].Streams())
	for f.Replicas = math.Ceil(f.Peak/f.Each) + 1; !f.fits(in, f.Replicas); f.Replicas++ {
	}

	cpu := streamCPU(in)
	f.CPU = streams * cpu
	f.Network = streams * in.Get("pace") * sending(in) * (in.Get("bytes_frame") + in.Get("packet"))
	f.Record = f.Arrivals * recordBytes(in)
	perCore := 1 / in.Get("cpu_frame_full")
	f.Killed = mean / f.Replicas
	f.After = mean + f.Killed*in.Lengths.MostRestarted(watched*in.Get("pace")*in.Get("frame_text"))
	f.Wait = frameWait(in.Get("cores"), f.Peak/(f.Replicas-1)*cpu*perCore, perCore)
	f.Store = storeOf(in, f.Arrivals*in.Get("burst"))
	f.Bucket = bucketOf(in, f)
	f.Busy = mean * cpu / (f.Replicas * in.Get("cores"))
	f.AfterCPU = f.After * cpu / ((f.Replicas - 1) * in.Get("cores"))
	spare := in.Get("cores") * (1 - f.AfterCPU)
	f.Backlog = max((f.Killed+f.Arrivals*in.Get("burst")*again)/(f.Replicas-1)*once(in)/spare-again, 0)
	f.Rolling = in.Lengths.Left(in.Get("shutdown_wait") * in.Get("pace") * in.Get("frame_text"))
	f.Costs = costs(in, f)
	return f
}

// fits reports whether a number of replicas carries the peak after one of them was lost,
// whose streams then begin again.
func (f *Fleet) fits(in *Inputs, replicas float64) bool {
	return replicas >= 2 && f.Peak*(1+in.Lengths.MostRestarted(in.Lengths.At(1))/replicas) <= (replicas-1)*f.Each
}

// needs are those of one gateway.
func needs(in *Inputs) []Need {
	busy, full := in.Get("busy"), in.Get("full")
	held := in.Get("limit_exchange_bytes") + in.Get("prompt")
	return []Need{
		{"processor", streamCPU(in), in.Get("cores") * busy, in.Get("cores")},
		// A reply that is recorded and remembered is held until its end, twice.
		{"memory", in.Get("memory_stream_full") + in.Get("prompt") + 2*in.Lengths.Held(), in.Get("memory")*full - in.Get("memory_idle"), in.Get("memory")},
		{"`limits.memory`", held + 2*in.Lengths.Held(), in.Get("memory") / 4 * full, in.Get("memory") / 4},
		{"`limits.exchanges`", 1, in.Get("limit_exchanges"), in.Get("limit_exchanges")},
		{"`limits.connections`", 1, min(in.Get("limit_connections"), in.Get("descriptors")*7/16), in.Get("limit_connections")},
		{"descriptors", in.Get("descriptors_stream"), in.Get("descriptors") * full, in.Get("descriptors")},
		{"network", in.Get("pace") * sending(in) * (in.Get("bytes_frame") + in.Get("packet")), in.Get("network") * busy, in.Get("network")},
		{"disk of the record", recordBytes(in) / lasts(in), in.Get("disk") * busy, in.Get("disk")},
	}
}

// frameWait is how long a frame waits for one of the cores. Frames take about the same
// time each (M/D/c): half of what Erlang's formula for exponential service gives, with
// the correction of Cosmetatos for several servers.
func frameWait(cores, rate, each float64) float64 {
	load := rate / each
	if load >= cores {
		return math.Inf(1)
	}
	busy := load / cores
	several := (1 - busy) * (cores - 1) * (math.Sqrt(4+5*cores) - 2) / (16 * busy * cores)
	return erlangC(cores, load) / (cores*each - rate) * (1 + several) / 2
}

// erlangC is the probability that all servers are busy.
func erlangC(servers, load float64) float64 {
	b := 1.0 // Erlang's B, by its recursion
	for i := 1.0; i <= servers; i++ {
		b = load * b / (i + load*b)
	}
	return b / (1 - load/servers*(1-b))
}

// storeOf is the shared state at a rate of arrivals.
func storeOf(in *Inputs, arrivals float64) (s Store) {
	s.Puts, s.Gets = arrivals*in.Get("remembered")*in.Get("store_puts"), arrivals*in.Get("asked")*2
	// An entry has the raw reply and its reasoning.
	text := in.Lengths.Mean() * (1 + in.Get("reasoning"))
	entry := in.Get("store_entry") + in.Get("store_entry_byte")*text
	s.Bytes = s.Puts*(in.Get("store_bytes_put")+text) + s.Gets/2*entry
	s.CPU = s.Puts*in.Get("store_cpu_put") + s.Gets/2*in.Get("store_get_cpu")
	s.Callers = math.Ceil(s.Puts * in.Get("turn") / in.Get("limit_restored"))
	s.Memory, s.Short = s.Puts*in.Get("restored_for")*entry, s.Puts*in.Get("turn")*entry
	nodes := func(memory float64) (float64, string) {
		byCPU, byMemory := s.CPU/in.Get("busy"), memory/(in.Get("store_memory")*in.Get("full"))
		if byCPU > byMemory {
			return math.Ceil(byCPU), "processor"
		}
		return math.Ceil(byMemory), "memory"
	}
	s.Nodes, s.By = nodes(s.Memory)
	s.ShortNodes, s.ShortBy = nodes(s.Short)
	return s
}

func bucketOf(in *Inputs, f *Fleet) (b Bucket) {
	perReplica := f.Record / f.Replicas
	b.Writes = f.Replicas * in.Get("ship_requests") * (1/in.Get("ship_every") + perReplica/in.Get("segment"))
	b.Sent = 2 * f.Record * in.Get("ship_ratio") // parts of the tail, and the segment that replaces them
	b.Prefixes = math.Ceil(b.Writes / in.Get("bucket_rate"))
	b.Kept = f.Record * in.Get("open_share") * in.Get("ship_ratio") * in.Get("kept")
	return b
}

// costs are those of a month. Gateways and nodes run all the time; the record has the
// events of open_share of the streams.
func costs(in *Inputs, f *Fleet) []Cost {
	const gib = 1 << 30
	store := func(memory float64) float64 {
		return max(memory/in.Get("full")/gib, 1) * in.Get("price_store_memory") * Month
	}
	return []Cost{
		{"gateways", f.Replicas * Month * (in.Get("cores")*in.Get("price_core") + in.Get("memory")/gib*in.Get("price_memory"))},
		{"store, entries kept for 6 h", store(f.Store.Memory)},
		{"… for 10 min", store(f.Store.Short)},
		{"writes of the bucket", f.Writes * Month * 3600 * in.Get("price_put")},
		{"record kept 30 days", f.Kept / 1e9 * in.Get("price_kept")},
	}
}
