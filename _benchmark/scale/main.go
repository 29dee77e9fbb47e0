// Scale answers what many streams need: how many gateways, what saturates first, what
// the store and the bucket see, and what it costs. It computes that from constants that
// were measured (measured.json, batch.json) and from those that you choose
// (assumed.json), and checks its formulas by a simulation of single streams.
//
//	cd _benchmark && go run ./scale                        # the tables of docs/scale.md
//	go run ./scale -set pace=80 -set cores=8               # for a workload and machine of your own
//	go run ./scale -streams 20000                          # for another number of streams
//	go run ./load -case constants -sotto PATH -o scale/measured.json
//	go test ./scale -update                                # writes the tables into docs/scale.md
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	var settings []string
	flag.Func("set", "`NAME=VALUE` in place of a constant; repeatable", func(s string) error {
		settings = append(settings, s)
		return nil
	})
	streams := flag.Float64("streams", 0, "answer for this number of streams alone")
	flag.Parse()
	in, err := ReadInputs(settings...)
	if err != nil || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "scale:", err, flag.Args())
		os.Exit(2)
	}
	if *streams > 0 {
		scenarios = []float64{*streams}
		fmt.Println(answers(in) + "\n" + oneGateway(in))
		return
	}
	all := tables(in)
	for _, name := range []string{"answers", "gateway", "checked", "measured", "batch"} {
		fmt.Println(all[name])
	}
}
