package main

import (
	"math"
	"math/rand/v2"
)

// A Batch is 200 GB of replies, read from a bucket and written to it by some tasks.
type Batch struct {
	Command string
	Tasks   float64
	Seconds float64
	Rate    float64 // bytes a second, all tasks
	Reads   float64 // of the bucket
	Writes  float64
	USD     float64
	Bound   string // what decides the rate of a task
	Again   float64
}

// shard is how long a shard takes one task, without kills.
func shard(in *Inputs, command string) (seconds float64, bound string) {
	each := in.Get("batch_bytes") / in.Get("batch_shards")
	rate, bound := in.Get(command+"_rate"), "processor"
	if net := in.Get("batch_network") / (1 + in.Get(command+"_output")); net < rate {
		rate, bound = net, "network"
	}
	return in.Get("batch_start") + each/rate, bound
}

// PlanBatch answers for a number of tasks with a core each.
func PlanBatch(in *Inputs, command string, tasks float64) Batch {
	t, bound := shard(in, command)
	shards := in.Get("batch_shards")
	// A shard whose task is killed begins again: with kills at the rate k, it takes
	// (e^kt − 1)/k on average.
	k := in.Get("batch_killed") / 3600
	with := math.Expm1(k*t) / k
	b := Batch{Command: command, Tasks: tasks, Bound: bound, Again: math.Expm1(k * t)}
	b.Seconds = math.Ceil(shards/tasks) * with
	b.Rate = in.Get("batch_bytes") / b.Seconds
	b.count(in, shards*(1+b.Again), shards*with/3600)
	return b
}

// count counts the requests and the cost of attempts and hours of a core.
func (b *Batch) count(in *Inputs, attempts, hours float64) {
	shards := in.Get("batch_shards")
	each := in.Get("batch_bytes") / shards
	b.Reads = attempts * in.Get("batch_reads")
	// What a shard writes has parts, a beginning and an end, and a manifest.
	b.Writes = shards * (3 + math.Ceil(each*in.Get(b.Command+"_output")/in.Get("batch_part")))
	b.USD = hours*(in.Get("price_core")+4*in.Get("price_memory")) + b.Reads*in.Get("price_get") + b.Writes*in.Get("price_put")
}

// SimulateBatch gives shards to tasks as they become free, and kills tasks.
func SimulateBatch(in *Inputs, command string, tasks int, seed uint64) Batch {
	rng := rand.New(rand.NewPCG(seed, 3))
	t, bound := shard(in, command)
	k := in.Get("batch_killed") / 3600
	b := Batch{Command: command, Tasks: float64(tasks), Bound: bound}
	free := make(events, tasks)
	attempts, busy := 0.0, 0.0
	for left := int(in.Get("batch_shards")); left > 0; {
		task := &free[0]
		takes := t
		if killed := rng.ExpFloat64() / k; killed < t {
			takes = killed
		} else {
			left--
		}
		attempts++
		busy += takes
		task.at += takes
		if takes == t {
			b.Seconds = max(b.Seconds, task.at)
		}
		free.sink()
	}
	b.Rate = in.Get("batch_bytes") / b.Seconds
	b.Again = attempts/in.Get("batch_shards") - 1
	b.count(in, attempts, busy/3600)
	return b
}
