// Command unsteady runs tests, and knows the few whose result is not steady.
//
//	go run ./internal/testing/unsteady test -race ./...            run them; the rest of the line is for go test
//	go run ./internal/testing/unsteady find ./gateway              look for unsteady ones: 20 runs, two at a time
//	go run ./internal/testing/unsteady find -times 4 -touch all .  4 runs of every test of the package
//
// A test that fails is a failure, unless list.txt names it with a date and a reason. A
// named test gets three more runs, and all of them must pass. A data race, a panic and a
// package without a result are always failures.
//
// find runs the tests that touch time, servers, other programs or browsers, as their
// source says, in two copies at once. It fails if an unsteady test is not on the list.
package main

import (
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"
)

//go:embed list.txt
var listText string

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "unsteady:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	known, err := readList(listText)
	if err != nil {
		return err
	}
	if len(args) == 0 {
		return errors.New("say test or find; go doc ./internal/testing/unsteady shows both")
	}
	switch args[0] {
	case "test":
		return rule{known: known, out: os.Stdout}.test(args[1:])
	case "find":
		s := search{known: known, out: os.Stdout}
		set := flag.NewFlagSet("find", flag.ContinueOnError)
		set.IntVar(&s.times, "times", 20, "runs of each package")
		set.IntVar(&s.copies, "copies", 2, "how many of them run at once")
		set.StringVar(&s.touch, "touch", "outside", "which tests: outside, for those that touch time, servers, programs or browsers; or all")
		set.StringVar(&s.only, "run", "", "only tests whose name this pattern matches")
		set.DurationVar(&s.limit, "timeout", 20*time.Minute, "of one run of a package")
		if err := set.Parse(args[1:]); err != nil {
			return err
		}
		return s.find(set.Args())
	}
	return fmt.Errorf("no command %q: there are test and find", args[0])
}
