package databackup

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/sotto-llm/sotto/internal/data/datafolder"
	"github.com/sotto-llm/sotto/internal/net/certificates"
	"github.com/sotto-llm/sotto/internal/net/owners"
	"github.com/sotto-llm/sotto/internal/net/sealedslot"
	"github.com/sotto-llm/sotto/internal/reply/promptshown"
	"github.com/sotto-llm/sotto/record"
)

// A Part is a kind of file in a data folder.
type Part string

const (
	Folder       Part = "folder"       // the number of the folder's format
	Starts       Part = "starts"       // how the replies of models begin
	Prompts      Part = "prompts"      // how servers render prompts, as sotto doctor saw it
	Owners       Part = "owners"       // of what callers made at upstreams
	Tasks        Part = "tasks"        // of A2A
	Memory       Part = "memory"       // of solved problems
	Conversation Part = "conversation" // with an agent, or of the Responses API
	Record       Part = "record"
	RunMemory    Part = "run memory"  // of an agent, from cycle to cycle
	Certificate  Part = "certificate" // of a domain, or the account at the authority that gives them
	Other        Part = "other"       // whatever else lies in the folder
)

const (
	startsFile    = "starts.json"
	socketsFolder = "sockets"
	sqliteHead    = "SQLite format 3\x00"
	boltMagic     = 0xED0CDAED // a number at boltAt
	boltAt        = 16
	lineFile      = ".jsonl"
	bakSuffixes   = "-wal -shm -journal"
)

// Databases are the kinds of databases that a program can copy and check.
type Databases map[Part]Database

// A Database is a kind of database.
type Database struct {
	// Copy copies a file to a new one, as it is at one moment. running writes the copy that
	// the server gives that has the file open; its error is [fs.ErrNotExist] if there is no
	// such server.
	Copy func(ctx context.Context, file, to string, running func(io.Writer) error) error
	// Check reads all of a file that no program writes, and returns its format.
	Check func(ctx context.Context, file string) (format int, err error)
}

// A place is a file of a data folder.
type place struct {
	name   string // with slashes, below the folder
	part   Part
	append bool // it grows at its end, a line at a time
}

// A LeftOut is something in a data folder that is not copied, although it is neither a
// lock nor half of a file.
type LeftOut struct {
	Name string `json:"name"`
	Why  string `json:"why"`
}

// list lists the files of a folder, in the order in which they are copied: that of
// their names, folder by folder.
func list(root *os.Root) (all []place, out []LeftOut, err error) {
	err = fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case name == "." && err != nil:
			return err
		case err != nil:
			if os.IsNotExist(err) { // it was removed meanwhile
				return nil
			}
			return err
		case e.IsDir():
			if name == socketsFolder || name == datafolder.Unfinished || name == datafolder.Finished || name == "lost+found" {
				return fs.SkipDir
			}
			return nil
		case isPassing(root, name), e.Type()&fs.ModeSocket != 0: // in a socket is nothing to copy
			return nil
		case !e.Type().IsRegular():
			out = append(out, LeftOut{name, kindOf(e.Type())})
			return nil
		}
		if err := checkName(name); err != nil {
			out = append(out, LeftOut{name, err.Error()})
			return nil
		}
		all = append(all, place{name: name})
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	return classified(root, all), out, nil
}

func kindOf(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	}
	return "not a regular file"
}

// isPassing reports whether a file is a lock, is half written, or belongs to an open
// database.
func isPassing(root *os.Root, name string) bool {
	base := path.Base(name)
	if base == "LOCK" || strings.HasSuffix(base, ".lock") || strings.HasPrefix(base, ".tmp-") ||
		name == startsFile+".new" || name == promptshown.File+".new" || name == owners.File+".new" || name == sealedslot.File+".new" || name == datafolder.File+".new" || strings.HasPrefix(name, "try-") {
		return true
	}
	if isCertificate(name) {
		return isPassingKey(root, name)
	}
	for suffix := range strings.FieldsSeq(bakSuffixes) {
		if of, ok := strings.CutSuffix(name, suffix); ok && strings.HasPrefix(string(head(root, of, len(sqliteHead))), sqliteHead) {
			return true
		}
	}
	return false
}

// head returns the first bytes of a regular file, or nil.
func head(root *os.Root, name string, n int) []byte {
	f, _, err := openRegular(root, name)
	if err != nil {
		return nil
	}
	defer f.Close()
	b := make([]byte, n)
	got, _ := io.ReadFull(f, b)
	return b[:got]
}

// classified says of each file which part it is of. A folder with segments is a record.
func classified(root *os.Root, all []place) []place {
	last := map[string]string{} // segment of a record
	for _, p := range all {
		if dir, base := path.Split(p.name); record.IsSegment(base) {
			last[dir] = max(last[dir], base)
		}
	}
	for i, p := range all {
		dir, base := path.Split(p.name)
		_, inRecord := last[dir]
		above, below := path.Split(strings.TrimSuffix(dir, "/"))
		_, runs := last[above]
		switch {
		case p.name == datafolder.File:
			all[i].part = Folder
		case p.name == startsFile:
			all[i].part = Starts
		case p.name == promptshown.File:
			all[i].part = Prompts
		case p.name == owners.File:
			all[i].part, all[i].append = Owners, true
		case p.name == owners.FirstFile:
			all[i].part = Owners
		case inRecord && (record.IsSegment(base) || record.IsSegment(strings.TrimSuffix(base, ".index")+lineFile)):
			all[i].part, all[i].append = Record, base == last[dir] && path.Ext(base) == lineFile
		case runs && below == "memory" && path.Ext(base) == lineFile:
			all[i].part, all[i].append = RunMemory, true
		case isCertificate(p.name):
			all[i].part = Certificate
		case isConversation(p.name):
			all[i].part, all[i].append = Conversation, true
		case path.Ext(base) == ".db":
			all[i].part = database(root, p.name)
		default:
			all[i].part = Other
		}
	}
	return all
}

// isConversation reports whether a file is chats/NAME.jsonl,
// conversations/CALLER/NAME.jsonl or responses/CALLER/NAME.jsonl.
func isConversation(name string) bool {
	chat, _ := path.Match("chats/*.jsonl", name)
	kept, _ := path.Match("conversations/*/*.jsonl", name)
	replies, _ := path.Match("responses/*/*.jsonl", name)
	return chat || kept || replies
}

// isCertificate reports whether a file is acme/AUTHORITY/NAME.
func isCertificate(name string) bool {
	is, _ := path.Match(certificates.AuthorityFolder+"/*/*", name)
	return is
}

// isPassingKey reports whether a file beside certificates is an answer to an authority,
// which counts for a moment, or half written: package autocert appends digits to the name.
func isPassingKey(root *os.Root, name string) bool {
	whole := strings.TrimRight(name, "0123456789")
	if whole != name {
		if _, err := root.Lstat(whole); err == nil {
			return true
		}
	}
	return strings.HasSuffix(whole, "+token") || strings.Contains(path.Base(name), "+http-01")
}

// database says by its first bytes which part a file of a database is of.
func database(root *os.Root, name string) Part {
	b := head(root, name, max(boltAt+4, len(sqliteHead)))
	switch {
	case len(b) >= boltAt+4 && binary.NativeEndian.Uint32(b[boltAt:]) == boltMagic:
		return Tasks
	case bytes.HasPrefix(b, []byte(sqliteHead)):
		return Memory
	}
	return Other
}

// pathIn returns the path of a name with slashes below a folder.
func pathIn(dir, name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
