package databackup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/filelock"
	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/data/datafolder"
)

// A restore works in a folder [datafolder.Unfinished] inside the new data folder,
// because the new folder may be the root of a volume, which nothing can be renamed to:
//
//	.restoring/lock    locked by the process that restores
//	.restoring/files   the files of the archive
//	.restoring/whole   a digest of the archive's entries, once the files are there and checked
//
// Then everything in files moves into the data folder, and .restoring is renamed and
// removed. While it is there, every program refuses the data folder. A restore that was killed before
// whole was written begins again. One that was killed later moves the rest.
const (
	filesFolder = "files"
	wholeFile   = "whole"
	lockFile    = "lock"
)

// A Restored says what was restored.
type Restored struct {
	Report
	Resumed bool // an interrupted restore was continued
}

// Restore restores an archive into a folder that does not exist or is empty. The archive
// has at most so many bytes in files; 0 stands for the default. Faults of a part are in
// the report, and nothing is restored then. known are the databases that are checked; others
// are restored byte by byte, and the report names them.
func Restore(ctx context.Context, from io.Reader, dir string, bytes int64, known Databases) (*Restored, error) {
	if err := checkTarget(dir); err != nil {
		return nil, err
	}
	stage := filepath.Join(dir, datafolder.Unfinished)
	if err := os.MkdirAll(stage, 0o700); err != nil {
		return nil, fmt.Errorf("restore into %s: %w", dir, files.Cause(err))
	}
	unlock, err := lockStage(stage)
	if err != nil {
		return nil, fmt.Errorf("restore into %s: %w", dir, files.Cause(err))
	}
	defer unlock()
	r := newReader(from, bytes)
	r.databases = known
	out, keep, err := r.restore(ctx, dir, stage)
	if !keep {
		err = errors.Join(err, clean(dir, stage))
	}
	return out, err
}

// checkTarget refuses a folder that holds anything else than an interrupted restore.
func checkTarget(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("restore into %s: %w", dir, files.Cause(err))
	}
	if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == datafolder.Unfinished && e.IsDir() }) {
		return nil
	}
	for _, e := range entries {
		if e.Name() != "lost+found" { // of the root of a volume
			return errorhint.Usage(fmt.Errorf("%s is not empty: it holds %q", dir, e.Name()), "restore into a new folder; nothing is ever restored over data")
		}
	}
	return nil
}

// lockStage makes this process the only one that restores into a folder.
func lockStage(stage string) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(stage, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = filelock.Try(f)
	if errors.Is(err, filelock.ErrHeld) {
		err = errors.New("another process restores into it")
	}
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}

// restore restores, or continues to. It reports whether the stage has to be kept.
func (r *reader) restore(ctx context.Context, dir, stage string) (out *Restored, keep bool, err error) {
	whole, err := files.ReadRegular(filepath.Join(stage, wholeFile), maxAbout)
	if err == nil {
		return r.resume(ctx, dir, stage, whole)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, true, files.Cause(err)
	}
	if err := r.extract(ctx, stage); err != nil {
		return nil, false, err
	}
	report, err := check(ctx, filepath.Join(stage, filesFolder), "", r.databases)
	if err != nil {
		return nil, false, err
	}
	report.About = &r.about
	out = &Restored{Report: *report}
	if len(report.Faults) > 0 {
		return out, false, nil
	}
	digest, err := r.digest()
	if err == nil {
		err = writeWhole(stage, digest)
	}
	if err != nil {
		return nil, false, err
	}
	return out, true, settle(dir, stage)
}

// resume ends a restore that was interrupted while it moved the files.
func (r *reader) resume(ctx context.Context, dir, stage string, whole []byte) (out *Restored, keep bool, err error) {
	if err := r.unpack(ctx); err != nil {
		return nil, true, err
	}
	digest, err := r.digest()
	if err != nil {
		return nil, true, err
	}
	if !bytes.Equal(digest, whole) {
		return nil, true, errorhint.Add(fmt.Errorf("a restore of another backup into %s did not end", dir), "restore that backup, or remove the folder")
	}
	if err := settle(dir, stage); err != nil {
		return nil, true, err
	}
	report, err := check(ctx, dir, "", r.databases)
	if err != nil {
		return nil, true, err
	}
	report.About = &r.about
	return &Restored{*report, true}, true, nil
}

// extract writes the files of the archive into the stage, after it removed those of an
// earlier attempt.
func (r *reader) extract(ctx context.Context, stage string) error {
	to := filepath.Join(stage, filesFolder)
	if err := os.RemoveAll(to); err != nil {
		return files.Cause(err)
	}
	if err := os.Mkdir(to, 0o700); err != nil {
		return files.Cause(err)
	}
	root, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer root.Close()
	r.into, r.sync = root, true
	if err := r.unpack(ctx); err != nil {
		return err
	}
	return syncFolders(to)
}

// digest identifies what was read.
func (r *reader) digest() ([]byte, error) {
	sum := sha256.New()
	if err := json.NewEncoder(sum).Encode(r.about); err != nil {
		return nil, err
	}
	w := writer{Summary: Summary{Entries: r.entries}}
	if err := w.lines(sum); err != nil {
		return nil, err
	}
	return hex.AppendEncode(nil, sum.Sum(nil)), nil
}

// writeWhole says that the files in the stage are whole.
func writeWhole(stage string, digest []byte) error {
	temp := filepath.Join(stage, wholeFile+".new")
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return files.Cause(err)
	}
	_, err = f.Write(digest)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(temp, filepath.Join(stage, wholeFile)); err != nil {
		return files.Cause(err)
	}
	point("files whole")
	return syncFolder(stage)
}

// settle moves the files of the stage to their places, and removes the stage.
func settle(dir, stage string) error {
	from := filepath.Join(stage, filesFolder)
	entries, err := os.ReadDir(from)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return files.Cause(err)
	}
	for _, e := range entries {
		if _, err := os.Lstat(filepath.Join(dir, e.Name())); err == nil {
			return fmt.Errorf("%s has come into the folder meanwhile: remove it, and run the restore again", e.Name())
		}
		if err := os.Rename(filepath.Join(from, e.Name()), filepath.Join(dir, e.Name())); err != nil {
			return files.Cause(err)
		}
		point("moved")
	}
	if err := syncFolder(dir); err != nil {
		return err
	}
	done := filepath.Join(dir, datafolder.Finished)
	if err := os.Rename(stage, done); err != nil { // from here on programs use the folder
		return files.Cause(err)
	}
	point("finished")
	return errors.Join(os.RemoveAll(done), syncFolder(dir))
}

// clean removes what a restore that failed has written, and the folder if it is empty.
func clean(dir, stage string) error {
	if err := os.RemoveAll(stage); err != nil {
		return files.Cause(err)
	}
	_ = os.Remove(dir) // if it is empty
	return nil
}

// syncFolders syncs a folder and those below it.
func syncFolders(dir string) error {
	return filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() {
			return err
		}
		return syncFolder(name)
	})
}

// syncFolder makes sure that the names in a folder are on disk. Not every system can do
// that, or has to.
func syncFolder(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return files.Cause(err)
	}
	if err := d.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, os.ErrInvalid) && !errors.Is(err, os.ErrPermission) {
		return errors.Join(files.Cause(err), d.Close())
	}
	return d.Close()
}
