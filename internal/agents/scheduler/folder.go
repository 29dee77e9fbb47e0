package scheduler

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/internal/base/filelock"
	"github.com/sotto-llm/sotto/internal/base/files"
)

// A Folder keeps schedules in files: for each one its state, which is replaced, the log of the
// run that is going, and a lock, which ends with its process.
type Folder string

const (
	stateFile = ".json"
	lockFile  = ".lock"
	logFile   = ".log"

	maxState = 8 << 20
	maxLog   = 256 << 20
)

func (f Folder) path(id name, what string) string {
	return filepath.Join(string(f), id.key()+what)
}

func (f Folder) take(id name) (hold, error) {
	if err := os.MkdirAll(string(f), 0o700); err != nil {
		return nil, files.Cause(err)
	}
	lock, err := os.OpenFile(f.path(id, lockFile), os.O_RDWR|os.O_CREATE, 0o600) // it stays: who removes it could remove that of another process
	if err != nil {
		return nil, files.Cause(err)
	}
	if err := filelock.Try(lock); err != nil {
		if errors.Is(err, filelock.ErrHeld) {
			err = errElsewhere
		}
		return nil, errors.Join(err, lock.Close())
	}
	s, err := f.read(id)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return &fileHold{folder: f, id: id, lock: lock, known: s}, nil
}

func (f Folder) read(id name) (*state, error) {
	data, err := files.ReadRegular(f.path(id, stateFile), maxState)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return parseState(data)
}

// A fileHold is a schedule whose lock this process has.
type fileHold struct {
	folder Folder
	id     name
	lock   *os.File
	known  *state
}

func (h *fileHold) state() *state         { return h.known }
func (h *fileHold) lost() <-chan struct{} { return nil } // a lock is never lost
func (h *fileHold) release()              { h.lock.Close() }

func (h *fileHold) put(s *state) error {
	data, err := s.encode()
	if err != nil {
		return err
	}
	to := h.folder.path(h.id, stateFile)
	temp := filepath.Join(string(h.folder), ".tmp-"+h.id.key())
	if err := writeSynced(temp, os.O_TRUNC, data); err != nil {
		return err
	}
	if err := os.Rename(temp, to); err != nil {
		return files.Cause(err)
	}
	h.known = s
	return h.folder.sync()
}

// sync makes a rename last.
func (f Folder) sync() error {
	d, err := os.Open(string(f))
	if err != nil {
		return files.Cause(err)
	}
	_ = d.Sync() // not every system can
	return d.Close()
}

func writeSynced(name string, how int, data []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|how, 0o600)
	if err != nil {
		return files.Cause(err)
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return files.Cause(errors.Join(err, f.Close()))
}

func (h *fileHold) logName(due time.Time) string {
	return h.folder.path(h.id, fmt.Sprintf("-%d%s", due.Unix(), logFile))
}

func (h *fileHold) add(due time.Time, n int, line []byte) error {
	how := os.O_APPEND
	if n == 0 {
		how = os.O_TRUNC
	}
	return writeSynced(h.logName(due), how, append(line, '\n'))
}

// log removes a last line without its end, which a crash leaves.
func (h *fileHold) log(due time.Time) ([][]byte, error) {
	data, err := files.ReadRegular(h.logName(due), maxLog)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if whole := bytes.LastIndexByte(data, '\n') + 1; whole < len(data) {
		if err := os.Truncate(h.logName(due), int64(whole)); err != nil {
			return nil, files.Cause(err)
		}
		data = data[:whole]
	}
	lines := bytes.Split(data, []byte("\n"))
	return lines[:len(lines)-1], nil
}

// drop also removes logs that a crash left of earlier runs.
func (h *fileHold) drop(time.Time) error {
	all, err := os.ReadDir(string(h.folder))
	if err != nil {
		return files.Cause(err)
	}
	var list []error
	for _, e := range all {
		if strings.HasPrefix(e.Name(), h.id.key()+"-") && strings.HasSuffix(e.Name(), logFile) {
			list = append(list, os.Remove(filepath.Join(string(h.folder), e.Name())))
		}
	}
	return errors.Join(list...)
}
