package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// A use is what a run took.
type use struct {
	wall, cpu time.Duration
	memory    int64 // kB, at most
}

// runCores prints what gsm8k and choice take on one core and on two: the least of all
// rounds, in which both take turns.
func runCores(dir string, lines, rounds int) error {
	sotto := filepath.Join(dir, "sotto")
	if err := compile(sotto); err != nil {
		return err
	}
	for _, name := range []string{"gsm8k", "choice"} {
		p := tasks[slices.IndexFunc(tasks, func(p posed) bool { return p.task == name })]
		file := filepath.Join(dir, name+".jsonl")
		size, err := writeTask(file, p, lines)
		if err != nil {
			return err
		}
		var least [2]use
		for range rounds {
			for i := range least {
				now, err := useOf(sotto, name, file, i+1)
				if err != nil {
					return err
				}
				least[i] = now.least(least[i])
			}
		}
		one, two := least[0], least[1]
		fmt.Printf("%s, %d MB: one core %v, %v of CPU, %d MB; two cores %v, %v of CPU, %d MB; %.2f times as fast, CPU %.2f times\n", name, size/1e6,
			one.wall.Round(time.Millisecond), one.cpu.Round(time.Millisecond), one.memory/1000,
			two.wall.Round(time.Millisecond), two.cpu.Round(time.Millisecond), two.memory/1000,
			one.wall.Seconds()/two.wall.Seconds(), two.cpu.Seconds()/one.cpu.Seconds())
		os.Remove(file)
	}
	return nil
}

// useOf scores a file on some cores.
func useOf(sotto, task, file string, cores int) (use, error) {
	cmd := exec.Command(sotto, "score", "--task", task, "--jsonl", file)
	cmd.Env = append(os.Environ(), fmt.Sprint("GOMAXPROCS=", cores))
	start := time.Now()
	err := cmd.Run()
	u := use{wall: time.Since(start)}
	if err != nil {
		return u, fmt.Errorf("%s: %w", task, err)
	}
	u.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	u.memory = cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss
	return u, nil
}

// least returns the least of two uses of time, and the most memory.
func (u use) least(was use) use {
	if was.wall == 0 {
		return u
	}
	return use{min(u.wall, was.wall), min(u.cpu, was.cpu), max(u.memory, was.memory)}
}
