package files

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// A Temporary is a file that gets another name when it is whole.
type Temporary struct{ *os.File }

// NewTemporary makes a file for its owner only, as [os.CreateTemp] does. If a signal
// ends the process before the file is kept, it is removed.
func NewTemporary(dir, pattern string) (*Temporary, error) {
	temporaries.Lock()
	defer temporaries.Unlock()
	if len(temporaries.names) == 0 {
		watchTemporaries() // before the first file
	}
	file, err := os.CreateTemp(dir, pattern) // 0600
	if err != nil {
		forget("")
		return nil, err
	}
	temporaries.names[file.Name()] = true
	return &Temporary{file}, nil
}

// Remove closes the file and removes it, unless it has another name already.
func (t *Temporary) Remove() {
	t.Close()
	os.Remove(t.Name())
	t.Keep()
}

// Keep says that the file got its name, so that no signal removes it.
func (t *Temporary) Keep() {
	temporaries.Lock()
	defer temporaries.Unlock()
	forget(t.Name())
}

// temporaries are the files to remove if a signal ends the process: one list, because
// the signal is for all of it.
var temporaries struct {
	sync.Mutex
	names   map[string]bool
	signals chan os.Signal
}

// watchTemporaries begins to wait for signals. One that the process was told to ignore,
// such as by nohup, stays ignored.
func watchTemporaries() {
	signals := make(chan os.Signal, 1)
	temporaries.names, temporaries.signals = map[string]bool{}, signals
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	go func() {
		s, ok := <-signals
		if !ok {
			return
		}
		temporaries.Lock() // for good: no file is begun now
		for name := range temporaries.names {
			os.Remove(name)
		}
		signal.Reset(s)
		if self, err := os.FindProcess(os.Getpid()); err == nil && self.Signal(s) == nil {
			time.Sleep(time.Second) // until the signal ends the process, as it does without a file
		}
		os.Exit(1)
	}()
}

// forget removes a name from the list, and ends the wait after the last one.
func forget(name string) {
	delete(temporaries.names, name)
	if len(temporaries.names) == 0 && temporaries.signals != nil {
		signal.Stop(temporaries.signals)
		close(temporaries.signals)
		temporaries.signals = nil
	}
}
